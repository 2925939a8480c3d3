/**
 * A lab: a private network and mount namespace in which the plugin is called as a runtime calls it.
 *
 * /run, /var/lib/cni, /opt/cni/bin and /etc/cni/net.d are empty and its own. It lives as long as the process that
 * holds it, and that one ends when its stdin does: a test that crashes leaves nothing either.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFailed, onTestFinished } from 'vitest'
import { type Executable, executables } from './executables.ts'

// biome-ignore lint/suspicious/noExplicitAny: configurations, results and the JSON of tools are what the test makes of them
export type Json = any

export interface Done {
  readonly argv: readonly string[]
  readonly status: number
  readonly stdout: string
  readonly stderr: string
  readonly ms: number
}

export interface RunOptions {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
  /** Sends SIGKILL after so many milliseconds; without it, shortly before the test is given up. */
  readonly killAfter?: number
}

export interface Lab {
  readonly executable: Executable
  /** Its files, as seen from outside: `${root}/run/…`. */
  readonly root: string
  /** Runs a program inside and waits. */
  run(argv: readonly string[], options?: RunOptions): Done
  /** Starts a program inside. */
  start(argv: readonly string[], options?: RunOptions): Promise<Done>
  /** Runs a program that must succeed; its stdout. */
  must(...argv: readonly string[]): string
  /** A program that runs until the lab closes, or `stop` is called. */
  background(...argv: readonly string[]): { readonly output: () => string; readonly stop: () => void }
  /** `must('ip', …)`, parsed: the words include `-j`. */
  ip(words: string): Json
  /** Makes a network namespace; its path. */
  netns(name: string): string
  /** The namespaces made so far that still exist. */
  namespaces(): readonly string[]
  /** Processes inside, other than the lab's own. */
  processes(): readonly string[]
  /** What is printed when the test fails. */
  note(text: string): void
}

/** In milliseconds; less than a test may take. */
const LONGEST = 400_000

const ENV = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' }

const PRIVATE = join(import.meta.dirname, 'private.sh')
const HOLD = 'set -e; . "$0"; echo ready; exec cat'

/** Opens a lab for the running test; it is closed with the test. */
export async function openLab(executable: Executable = executables()[0] as Executable): Promise<Lab> {
  if (!existsSync(executable.path)) throw new Error(`${executable.path} is missing: build it first`)
  const holder = spawn(
    'unshare',
    ['--net', '--mount', '--propagation', 'private', 'sh', '-c', HOLD, PRIVATE, executable.path],
    { env: ENV, stdio: ['pipe', 'pipe', 'pipe'] },
  )
  let complaint = ''
  holder.stderr.on('data', (data) => (complaint += data))
  const first = await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])
  if (!String(first[0]).startsWith('ready')) throw new Error(`no lab: ${complaint} (root is needed)`)
  const pid = holder.pid as number
  const notes: string[] = []
  const made = new Set<string>()
  const stops: (() => void)[] = []

  const outer = (argv: readonly string[]) => ['-t', String(pid), '-n', '-m', '--', ...argv]
  const done = (
    argv: readonly string[],
    begun: number,
    status: number | null,
    stdout: string,
    stderr: string,
  ): Done => ({
    argv,
    status: status ?? 137,
    stdout,
    stderr,
    ms: Math.round((performance.now() - begun) * 10) / 10,
  })

  const lab: Lab = {
    executable,
    root: `/proc/${pid}/root`,
    run(argv, { stdin = '', env = {}, killAfter } = {}) {
      const begun = performance.now()
      const child = spawnSync('nsenter', outer(argv), {
        input: stdin,
        env: { ...ENV, ...env },
        encoding: 'utf8',
        killSignal: 'SIGKILL',
        timeout: killAfter ?? LONGEST,
        maxBuffer: 1 << 26,
      })
      return done(argv, begun, child.status, child.stdout, child.stderr)
    },
    async start(argv, { stdin = '', env = {}, killAfter } = {}) {
      const begun = performance.now()
      const child = spawn('nsenter', outer(argv), { env: { ...ENV, ...env }, stdio: 'pipe' })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (data) => (stdout += data))
      child.stderr.on('data', (data) => (stderr += data))
      child.stdin.on('error', () => {}) // it may end without reading
      child.stdin.end(stdin)
      const timer = setTimeout(() => child.kill('SIGKILL'), killAfter ?? LONGEST)
      const [status] = (await once(child, 'exit')) as [number | null]
      clearTimeout(timer)
      if (status !== null) await Promise.all([child.stdout, child.stderr].map((s) => s.closed || once(s, 'close')))
      return done(argv, begun, status, stdout, stderr)
    },
    must(...argv) {
      const { status, stdout, stderr } = lab.run(argv)
      if (status !== 0) throw new Error(`${argv.join(' ')}: status ${status}: ${stderr}${stdout}`)
      return stdout
    },
    background(...argv) {
      const child = spawn('nsenter', outer(['setpriv', '--pdeathsig', 'KILL', ...argv]), { env: ENV, stdio: 'pipe' })
      let output = ''
      child.stdout.on('data', (data) => (output += data))
      child.stderr.on('data', (data) => (output += data))
      const stop = () => void child.kill('SIGKILL')
      stops.push(stop)
      return { output: () => output, stop }
    },
    ip: (words) => JSON.parse(lab.must('ip', ...words.split(' ')) || '[]'),
    netns(name) {
      if (!made.has(name)) lab.must('ip', 'netns', 'add', name)
      made.add(name)
      return `/run/netns/${name}`
    },
    namespaces: () => [...made].filter((name) => isNamespace(`${lab.root}/run/netns/${name}`)),
    processes: () => processesIn(readlinkSync(`/proc/${pid}/ns/mnt`), pid),
    note: (text) => void notes.push(text),
  }
  onTestFailed(() => console.error(notes.join('\n')))
  onTestFinished(async () => {
    for (const stop of stops) stop()
    for (const line of lab.processes()) killQuietly(Number.parseInt(line, 10))
    holder.stdin.end()
    if (holder.exitCode === null) await once(holder, 'exit')
  })
  return lab
}

const NSFS_MAGIC = 0x6e736673

function isNamespace(path: string): boolean {
  return existsSync(path) && statfsSync(path).type === NSFS_MAGIC
}

function processesIn(mountNamespace: string, except: number): readonly string[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry) || entry === String(except)) return []
    try {
      if (readlinkSync(`/proc/${entry}/ns/mnt`) !== mountNamespace) return []
      return [`${entry} ${readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ')}`]
    } catch {
      return [] // it ended meanwhile
    }
  })
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it ended meanwhile
  }
}
