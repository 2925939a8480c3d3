import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { checks } from './contract.ts'
import { buildPrograms, directory, type Program, removePrograms } from './programs.ts'

// Before the tests are collected, so that a missing toolchain fails them all.
const programs = await buildPrograms()
afterAll(removePrograms)

/** What becomes of it on Node.js. */
const churned = run(programs[0] as Program, ['churn', '200000']).stdout

const place = () => mkdtempSync(join(directory, 'case-'))

function run({ command: [file, ...words] }: Program, operation: readonly string[], input?: string | Buffer) {
  return spawnSync(file, [...words, ...operation], {
    ...(input === undefined ? { stdio: ['ignore', 'pipe', 'pipe'] } : { input }),
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', CONTRACT: 'a value = é', CONTRACT_EMPTY: '' },
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    timeout: 120_000,
  })
}

const said = ({ status, stdout, stderr }: SpawnSyncReturns<string>) => ({ status, stdout, stderr })
const quoted = (words: readonly string[]) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')

/** Runs a line of shell, in which `$program` is the program's command. */
function shell({ command }: Program, line: string) {
  return spawnSync('/bin/sh', ['-c', line.replaceAll('$program', quoted(command))], {
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    timeout: 120_000,
  })
}

describe.each(programs)('$engine', (program) => {
  test.each(Object.keys(checks))('%s', (name) => {
    expect(said(run(program, ['check', name, place()]))).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  test.each([
    ['nothing', 0],
    ['a word', 10],
    ['more than a pipe holds', 100_000],
    ['more than a megabyte', 1_500_000],
  ])('stdin is read to its end: %s', (_, length) => {
    const input = 'é😀x\n'.repeat(length / 8)
    const { status, stdout } = run(program, ['echo', '2000000'], input)
    expect([status, stdout === input]).toEqual([0, true])
  })

  test('no two processes throw the same dice', () => {
    const thrown = Array.from({ length: 4 }, () => Number(run(program, ['random']).stdout))
    expect(thrown.every((number) => number >= 0 && number < 1)).toBe(true)
    expect(new Set(thrown).size).toBe(4)
  })

  test('what was made when the program was loaded can be changed, and what becomes of it is collected', () => {
    const { status, stdout, stderr } = run(program, ['churn', '200000'])
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: churned, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ names: 84, held: 801 })
  })

  test('stdin beyond the limit is refused before its end', () => {
    expect(said(run(program, ['echo', '1000'], 'x'.repeat(1000))).status).toBe(0)
    expect(said(run(program, ['echo', '1000'], 'x'.repeat(1001)))).toMatchObject({ status: 1, stderr: 'EFBIG' })
    expect(said(shell(program, 'yes | $program echo 100000'))).toMatchObject({ status: 1, stderr: 'EFBIG' })
  })

  test('stdin that can not be read is told', () => {
    expect(said(shell(program, '$program echo 1000 < /'))).toMatchObject({ status: 1, stderr: 'EISDIR' })
  })

  test('stdin that was made non-blocking is waited for', () => {
    const nonblocking = "perl -MFcntl -e 'fcntl(STDIN, F_SETFL, O_NONBLOCK); exec @ARGV'"
    const { status, stdout, stderr } = shell(program, `(sleep 0.2; echo late) | ${nonblocking} $program echo 100`)
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'late\n', stderr: '' })
  })

  test('all of stdout arrives at a slow reader', () => {
    const { status, stdout, stderr } = shell(program, '$program speak 1048576 | (sleep 0.3; wc -c)')
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '1048576\n', stderr: 'spoken' })
  })

  test('all of stdout arrives when it was made non-blocking', () => {
    const nonblocking = "perl -MFcntl -e 'fcntl(STDOUT, F_SETFL, O_WRONLY | O_NONBLOCK); exec @ARGV'"
    const { stdout, stderr } = shell(program, `${nonblocking} $program speak 1048576 | (sleep 0.3; wc -c)`)
    expect({ stdout, stderr }).toEqual({ stdout: '1048576\n', stderr: 'spoken' })
  })

  test('a reader of stdout that has gone is no error, but told', () => {
    const { stderr } = shell(program, '($program speak 1048576; echo " $?" >&2) | true')
    expect(stderr).toBe('spoken to nobody 0\n')
    expect(shell(program, '$program speak 16').stderr).toBe('spoken')
  })

  test('a full disk behind stdout is one', () => {
    expect(shell(program, '$program speak 16 > /dev/full').stderr).toBe('ENOSPC')
  })

  test('closed standard descriptors do no harm', () => {
    const name = 'three megabytes go both ways at once'
    expect(shell(program, `$program check '${name}' / <&- >&- 2>&-`).status).toBe(0)
  })

  test('a rejection that nobody handles ends the program', () => {
    const { status, stderr } = run(program, ['reject'])
    expect([status, stderr.includes('nobody cares')]).toEqual([1, true])
  })

  test('the same bytes are replaced as by Node.js', () => {
    const file = join(place(), 'bytes')
    const alphabet = [
      0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xa0, 0xed, 0x9f, 0xef, 0xf0, 0x90, 0xf4, 0xf5, 0xff,
    ]
    // A fixed sequence that looks like none: each run tries the same 40,000 bytes.
    let seed = 1
    const bytes = Buffer.from(
      Array.from({ length: 40_000 }, () => {
        seed = (seed * 48_271) % 2_147_483_647
        return alphabet[seed % alphabet.length] as number
      }),
    )
    writeFileSync(file, bytes)
    expect(run(program, ['print', file]).stdout === bytes.toString('utf8')).toBe(true)
  })

  test('a lone surrogate is written as U+FFFD, a byte order mark is kept', () => {
    const file = join(place(), 'text')
    writeFileSync(file, '\ufeffmark')
    expect(run(program, ['print', file]).stdout).toBe('\ufeffmark')
  })

  test.runIf(process.getuid?.() === 0)('a read-only mount is not writable, not even for root', () => {
    const where = place()
    writeFileSync(join(where, 'a'), '')
    const line = `mount --bind ${where} ${where} && mount -o remount,bind,ro ${where} && $program writable ${where} ${where}/a`
    expect(
      shell(program, `unshare -m sh -c ${quoted([line.replaceAll('$program', quoted(program.command))])}`).stdout,
    ).toBe('[false,false]')
  })

  test.runIf(process.getuid?.() === 0)('a file that does not fit on the disk leaves nothing', () => {
    const where = place()
    const script = [
      `mount -t tmpfs -o size=64k none ${where}`,
      `${quoted(program.command)} create ${where}/a 1000000`,
      `ls ${where}`,
    ].join('; ')
    expect(said(shell(program, `unshare -m sh -c ${quoted([script])}`))).toEqual({
      status: 0,
      stdout: '',
      stderr: 'ENOSPC',
    })
  })
})

describe('the lock between engines', () => {
  const both = programs.filter(({ engine }) => engine !== 'quickjs, static')
  const pairs = both.flatMap((holder) => both.map((other) => ({ holder, other })))
  const named = pairs.map((pair) => ({ ...pair, title: `${pair.holder.engine}, ${pair.other.engine}` }))

  test('four processes of both engines never hold it together', async () => {
    const file = join(place(), 'count')
    writeFileSync(file, '0')
    const started = [...both, ...both].map(({ command: [program, ...words] }) =>
      exited(spawn(program, [...words, 'count', file, '40'], { stdio: 'inherit' })),
    )
    expect(await Promise.all(started)).toEqual([0, 0, 0, 0])
    expect(readFileSync(file, 'utf8')).toBe('160')
    expect(existsSync(`${file}.lock`)).toBe(false)
  })

  test.concurrent.each(named)(
    'a living holder keeps it beyond the time of the stale: $title',
    async ({ holder, other }) => {
      const file = join(place(), 'a')
      const { child, held } = hold(holder, file, 600_000)
      await held
      const second = hold(other, file, 0, 8000)
      expect(await second.end).toBe(1)
      child.kill('SIGKILL')
    },
  )
})

function hold({ command: [program, ...words] }: Program, file: string, milliseconds: number, wait = 1000) {
  const child = spawn(program, [...words, 'hold', file, String(milliseconds), String(wait)])
  const held = new Promise<void>((resolve) => {
    child.stdout.once('data', () => resolve())
  })
  return { child, held, end: exited(child) }
}

function exited(child: ReturnType<typeof spawn>): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => {
    child.once('exit', resolve)
  })
}

test('the name that a program is called by is its first word', () => {
  const quickjs = programs.find(({ engine }) => engine === 'quickjs') as Program
  const link = join(place(), 'bridge')
  symlinkSync(quickjs.command[0], link)
  expect(JSON.parse(run({ ...quickjs, command: [link] }, ['words', 'a b']).stdout)).toEqual([link, 'words', 'a b'])
})
