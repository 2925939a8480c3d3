/**
 * An engine whose programs follow a script: the exact words of the command line and of what is told to each program,
 * and what it answers. A program too many, one too few, or another word fails the test. Its clock stands still but
 * for sleeping, and the only files are the tools and those of the test.
 */
import { afterEach, beforeEach, expect } from 'vitest'
import { type Child, type Exit, FileError, type FileStat, type SpawnOptions } from '../../src/engine/engine.ts'
import { orAbsent } from './absent.ts'

export interface Line {
  /** What is written to the program in one go. */
  readonly told: string
  /** What it prints then, piece by piece. */
  readonly prints?: readonly string[]
  /** What it complains of then. */
  readonly complains?: string
  /** It ends by itself then. */
  readonly dies?: boolean
}

export interface Expected {
  readonly argv: readonly string[]
  readonly dialog?: readonly Line[]
  /** What it may be told after that, as often as it likes. */
  readonly repeats?: Line
  readonly exit?: Partial<Exit>
}

let expected: Expected[] = []
let problems: string[] = []
let running: { readonly argv: readonly string[]; hasEnded: boolean; left: readonly Line[] }[] = []
let clock = 0
/** Files of the test: content by path. */
export const files = new Map<string, string>()
/** What writing to a path fails with: an errno by path. */
export const failures = new Map<string, string>()
/** What was written, as `path=content`, in order. */
export const written: string[] = []
/** What happened, in order: `told …`, `ended PROGRAM …`. */
export const events: string[] = []
/** Tools that this machine lacks. */
export const missing = new Set<string>()

/** The programs that are to be started, in this order. */
export function script(...programs: readonly Expected[]): void {
  expected.push(...programs)
}

export function reset(): void {
  expected = []
  problems = []
  running = []
  clock = 0
  for (const state of [files, failures, missing]) state.clear()
  written.length = 0
  events.length = 0
}

/** Whatever differs from the script, at the end of a test. */
export function verdict(): readonly string[] {
  return [
    ...problems,
    ...expected.map(({ argv }) => `not started: ${argv.join(' ')}`),
    ...running.filter(({ hasEnded }) => !hasEnded).map(({ argv }) => `not ended: ${argv.join(' ')}`),
    ...running.flatMap(({ argv, left }) => left.map(({ told }) => `${argv.join(' ')} was not told ${told}`)),
  ]
}

/** To be called once in a test file. */
export function followScripts(): void {
  beforeEach(reset)
  afterEach(() => {
    expect(verdict()).toEqual([])
  })
}

function spawn({ argv, onStdout, onStderr }: SpawnOptions): Child {
  const program = expected.shift() ?? { argv: [] }
  if (program.argv.join('\0') !== argv.join('\0')) {
    problems.push(`started ${argv.join(' ')}, not ${program.argv.join(' ') || 'nothing'}`)
  }
  const state = { argv, hasEnded: false, left: program.dialog ?? [] }
  running.push(state)
  let stdout = ''
  let stderr = ''
  let resolve: (exit: Exit) => void
  const exit = new Promise<Exit>((settle) => {
    resolve = settle
  })
  const finish = () => {
    state.hasEnded = true
    events.push(`ended ${argv.join(' ')}`)
    resolve({ status: 0, timedOut: false, stdout, stderr, ...program.exit })
  }
  return {
    pid: 4711,
    write(text) {
      if (text === '') return
      events.push(`told ${text}`)
      const [line = program.repeats, ...left] = state.left
      state.left = left
      if (line?.told !== text) problems.push(`told ${JSON.stringify(text)}, not ${JSON.stringify(line?.told)}`)
      void answer(line)
    },
    end: () => queueMicrotask(finish),
    stderrSoFar: () => stderr,
    kill: finish,
    exit,
  }

  async function answer({ prints = [], complains = '', dies = false }: Partial<Line> = {}) {
    for (const piece of prints) {
      await Promise.resolve()
      stdout += piece
      onStdout?.(piece)
    }
    stderr += complains
    if (complains !== '') onStderr?.()
    if (dies) finish()
  }
}

function stat(path: string): FileStat {
  const isTool =
    /^\/usr\/sbin\/(bridge|ip|ip6?tables-(restore|save)|nft|nsenter|tee)$/.test(path) &&
    !missing.has(path.slice('/usr/sbin/'.length))
  if (!isTool && !files.has(path)) throw new FileError('ENOENT', 'stat', path)
  return { kind: 'file', device: 1, inode: 1, size: isTool ? 1 : (files.get(path)?.length ?? 0), modified: 0 }
}

function readFile(path: string): string {
  const content = files.get(path)
  if (content === undefined) throw new FileError('ENOENT', 'read', path)
  return content
}

function listDirectory(path: string): readonly string[] {
  const below = [...files.keys()].filter((file) => file.startsWith(`${path}/`))
  if (below.length === 0) throw new FileError('ENOENT', 'list', path)
  return [...new Set(below.map((file) => file.slice(path.length + 1).split('/')[0] ?? ''))]
}

function overwriteFile(path: string, content: string): void {
  const code = failures.get(path)
  if (code) throw new FileError(code, 'open', path)
  written.push(`${path}=${content}`)
}

async function sleep(milliseconds: number): Promise<void> {
  clock += milliseconds
  // As a real one, it lets everything else go first.
  await new Promise((resolve) => setImmediate(resolve))
}

/** The module `#engine`, as far as the host needs it. */
export const engine = {
  spawn,
  stat,
  statIfThere: orAbsent(stat),
  readFile,
  readIfThere: orAbsent(readFile),
  listDirectory,
  overwriteFile,
  sleep,
  monotonic: () => clock,
  now: () => clock,
  processId: () => 7,
}

/** `ip` in the host's namespace, or in the sandbox. */
export const IP = ['/usr/sbin/ip', '-force', '-details', '-json', '-batch', '-']
export const inside = (...words: readonly string[]) => ['/usr/sbin/nsenter', '--net=/proc/7/fd/5', ...words]
export const NFT = ['/usr/sbin/nft', '-f', '-']

/** One document, as `ip -json` prints it. */
export const printed = (...items: readonly object[]) => `${JSON.stringify(items)}\n`
