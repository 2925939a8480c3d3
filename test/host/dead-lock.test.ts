/** A lock whose holder has ended is taken at once; any other is left to grow stale. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { noteHolder, removeDeadLock } from '../../src/host/holder.ts'
import { lockStore } from '../../src/host/store.ts'
import { folder, moved, useTemporaryFolders } from './relocated.ts'

/** What is read of the lock's holder. */
let looks = 0
vi.mock('#engine', async () => {
  const { engine } = await import('./relocated.ts')
  const readIfThere = (path: string) => {
    if (/^\/proc\/\d+\/stat$/.test(path)) looks++
    return engine.readIfThere(path)
  }
  return { ...engine, readIfThere }
})
useTemporaryFolders()
// The clock stands still: no lock grows stale, and none is too old to be looked at, however slow the machine is.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_234_567_890_000 })
})

const world = readlinkSync('/proc/self/ns/pid')
/** A process that has just ended. */
const ended = spawnSync('true').pid
const lock = () => join(folder, 'lock.lock')
const note = () => moved(`/run/pontoon/holder${folder.replaceAll('/', '%')}`)

function identity(): string {
  const { dev, ino, mtimeMs } = statSync(lock())
  return `${dev}:${ino}@${Math.floor(mtimeMs)}`
}

/** A lock that is there, with a note of its holder. */
function leave({ pid = ended, where = world, which }: { pid?: number; where?: string; which?: string } = {}): void {
  makeLock()
  mkdirSync(moved('/run/pontoon'), { recursive: true })
  writeFileSync(note(), `${pid} ${where} ${which ?? identity()}\n`)
}

function makeLock(age = 0): void {
  mkdirSync(lock())
  const then = (Date.now() - age) / 1000
  utimesSync(lock(), then, then)
}

test('the holder has ended: the next one does not wait', async () => {
  leave()
  expect(await lockStore(folder, true, () => 'done')).toBe('done')
  expect(readdirSync(moved('/run/pontoon'))).toEqual([basename(note())])
})

test('a lock that is given back leaves nothing that could be said of the next one', async () => {
  let written = ''
  await lockStore(folder, true, () => {
    written = readFileSync(note(), 'utf8')
  })
  expect(written).toContain(` ${world} `)
  expect(readFileSync(note(), 'utf8')).toBe('')
})

test('the holder ends while another one waits', async () => {
  const holder = spawn('cat')
  leave({ pid: holder.pid as number })
  looks = 0
  const events: string[] = []
  let isOver = false
  const locked = lockStore(folder, true, () => void events.push('locked')).finally(() => {
    isOver = true
  })
  while (looks < 3 && !isOver) await new Promise((resolve) => setTimeout(resolve, 10))
  events.push('the holder was found alive three times')
  holder.stdin.end()
  await Promise.all([once(holder, 'exit'), locked])
  expect(events).toEqual(['the holder was found alive three times', 'locked'])
})

test('a note that is written by the holder names it, its world and the lock', () => {
  makeLock()
  noteHolder(folder)
  removeDeadLock(folder)
  expect(existsSync(lock()), 'this process lives').toBe(true)
})

const living: { name: string; make: () => void }[] = [
  { name: 'lives', make: () => leave({ pid: process.pid }) },
  { name: 'is of another world of process IDs', make: () => leave({ where: 'pid:[1]' }) },
  { name: 'noted another lock: the new one has not written its note', make: () => leave({ which: '1:2@3' }) },
  { name: 'wrote no note', make: () => makeLock() },
  {
    name: 'wrote a note as releases before this one did',
    make: () => {
      leave()
      writeFileSync(note(), `${ended}\n`)
    },
  },
  {
    name: 'is nearly stale, and others take it for that',
    make: () => {
      makeLock(2500)
      mkdirSync(moved('/run/pontoon'), { recursive: true })
      writeFileSync(note(), `${ended} ${world} ${identity()}\n`)
    },
  },
  {
    name: 'is dealt with by another process',
    make: () => {
      leave()
      writeFileSync(`${note()}.break`, '')
    },
  },
]
test.each(living)('the lock stays when the holder $name', ({ make }) => {
  make()
  removeDeadLock(folder)
  expect(existsSync(lock())).toBe(true)
})
