/** A lock whose holder has ended is taken at once; any other is left to grow stale. */
import { spawnSync } from 'node:child_process'
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
import { expect, test, vi } from 'vitest'
import { noteHolder, removeDeadLock } from '../../src/host/holder.ts'
import { lockStore } from '../../src/host/store.ts'
import { folder, moved, useTemporaryFolders } from './relocated.ts'

vi.mock('#engine', async () => (await import('./relocated.ts')).engine)
useTemporaryFolders()

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
  mkdirSync(lock())
  mkdirSync(moved('/run/pontoon'), { recursive: true })
  writeFileSync(note(), `${pid} ${where} ${which ?? identity()}\n`)
}

test('the holder has ended: the next one does not wait', async () => {
  leave()
  const begun = performance.now()
  expect(await lockStore(folder, true, () => 'done')).toBe('done')
  expect(performance.now() - begun).toBeLessThan(1000)
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
  const { spawn } = await import('node:child_process')
  const holder = spawn('sleep', ['0.3'])
  leave({ pid: holder.pid as number })
  const begun = performance.now()
  expect(await lockStore(folder, true, () => 'done')).toBe('done')
  expect(performance.now() - begun).toBeGreaterThan(250)
  expect(performance.now() - begun).toBeLessThan(2000)
})

test('a note that is written by the holder names it, its world and the lock', () => {
  mkdirSync(lock())
  noteHolder(folder)
  removeDeadLock(folder)
  expect(existsSync(lock()), 'this process lives').toBe(true)
})

const living: { name: string; make: () => void }[] = [
  { name: 'lives', make: () => leave({ pid: process.pid }) },
  { name: 'is of another world of process IDs', make: () => leave({ where: 'pid:[1]' }) },
  { name: 'noted another lock: the new one has not written its note', make: () => leave({ which: '1:2@3' }) },
  { name: 'wrote no note', make: () => void mkdirSync(lock()) },
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
      mkdirSync(lock())
      const then = Date.now() / 1000 - 2.5
      utimesSync(lock(), then, then)
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
