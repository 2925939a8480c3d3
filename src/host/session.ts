/**
 * One `ip -batch -` process that is talked with: lines go in, JSON comes out, and what comes out decides which lines
 * go in next. So a verb reads and acts on one namespace with a single process.
 *
 * `-force` makes `ip` go on after a failing line, so that every `show` gets its turn: it prints one document, or
 * fails. Lines that show nothing are not waited for. Whether they failed is known when the process has ended; until
 * then the caller looks at what it finds.
 *
 * Links are asked for by `addr show`, never by `link show`: iproute2 remembers the latter, and leaves the addresses
 * out of every later `addr show` of the same batch (the static `do_link` of ip/ipaddress.c).
 */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import type { Child, Exit } from '../engine/engine.ts'
import { findTool, TOOL_ENV } from './tools.ts'
import { mark } from './trace.ts'

/** Milliseconds that one `ip` process may live. Runtimes give a plugin a minute or more. */
const LIFETIME = 25_000
/** What a failed line said: `RTNETLINK answers: File exists`. */
export interface LineError {
  /** The line as it was given; '' when the process died, of whatever it had been told. */
  readonly line: string
  readonly text: string
  /** How it died: code 11 when it was killed. */
  readonly death?: Fault
}

export interface Session {
  /**
   * Hands lines over; resolves to the documents that those with `show` printed, in order. A line that failed leaves
   * its document out.
   * @throws Fault 104 or 11 when the process died over it
   */
  run(lines: readonly string[]): Promise<readonly unknown[]>
  /** Ends the process; resolves to what failed, in order. */
  close(): Promise<readonly LineError[]>
}

/**
 * @param netns path of the namespace to enter; undefined for the plugin's own
 * @param tool `bridge` speaks the same way, about `vlan show`
 * @throws Fault 104 when a tool is missing
 */
export function openSession(netns?: string, tool: 'ip' | 'bridge' = 'ip'): Session {
  const ip = [findTool(tool), '-force', tool === 'ip' ? '-details' : '-compressvlans', '-json', '-batch', '-'] as const
  const argv = netns === undefined ? ip : ([findTool('nsenter'), `--net=${netns}`, ...ip] as const)
  const where = netns === undefined ? `${tool}, host` : `${tool}, container`
  let text = ''
  let notify: (() => void) | undefined
  const child: Child = engine.spawn({
    argv: [...argv],
    env: TOOL_ENV,
    deadline: LIFETIME,
    onStdout(piece) {
      text += piece
      // A document comes in pieces; it is whole with its line.
      if (piece.endsWith('\n')) notify?.()
    },
    // A `show` that fails says nothing on stdout.
    onStderr: () => notify?.(),
  })
  const sent: string[] = []
  let ended: Exit | undefined
  void child.exit.then((exit) => {
    ended = exit
    notify?.()
  })

  async function run(lines: readonly string[]): Promise<readonly unknown[]> {
    // An empty line would be counted by ip, and not here.
    if (lines.length === 0) return []
    text = ''
    const first = sent.length + 1
    sent.push(...lines)
    const shows = lines.flatMap((line, i) => (SHOW.test(line) ? [first + i] : []))
    child.write(`${lines.join('\n')}\n`)
    if (shows.length === 0) return []
    for (;;) {
      const documents = text.split('\n').slice(0, -1)
      const failed = documents.length < shows.length ? failedLines(child.stderrSoFar()) : NONE
      if (documents.length + shows.filter((number) => failed.has(number)).length >= shows.length) {
        mark(`${where}: ${lines.length} lines run`)
        return documents.map(parseJson)
      }
      if (ended) throw deathOf(ended)
      await new Promise<void>((resolve) => {
        notify = resolve
      })
    }
  }

  async function close(): Promise<readonly LineError[]> {
    child.end()
    const exit = await child.exit
    mark(`${where}: ended`)
    return readErrors(exit, sent)
  }

  return { run, close }
}

const SHOW = /^(addr|route|vlan) show/
const NONE: ReadonlySet<number> = new Set()

/** The numbers of the lines that failed by now. */
function failedLines(stderr: string): ReadonlySet<number> {
  if (stderr === '') return NONE
  return new Set(Array.from(stderr.matchAll(/^Command failed -:(\d+)\n/gm), ([, number]) => Number(number)))
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new Fault(CODE.tool, 'ip printed no JSON', `install iproute2 (found: ${line.slice(0, 80)})`)
  }
}

/** `Command failed -:N` ends what line N said on stderr. */
function readErrors(exit: Exit, sent: readonly string[]): readonly LineError[] {
  if (exit.status === 0) return []
  const errors: LineError[] = []
  let said: string[] = []
  for (const text of exit.stderr.split('\n')) {
    const failed = /^Command failed -:(\d+)/.exec(text)
    if (!failed) {
      if (text !== '' && !text.startsWith('Warning:')) said.push(text.replace(/^Error: /, ''))
      continue
    }
    const line = sent[Number(failed[1]) - 1] ?? ''
    // What is not there any more is an answer too.
    if (!SHOW.test(line)) errors.push({ line, text: said.join('; ') || 'failed' })
    said = []
  }
  // With -force the status is 1 when a line has failed; another one is the end of the process itself.
  if (exit.timedOut || said.length > 0 || exit.status !== 1) {
    const death = deathOf(exit)
    errors.push({ line: '', text: death.details, death })
  }
  return errors
}

/** As a shell says SIGKILL and SIGTERM: these come from outside, the kernel's out-of-memory killer perhaps. */
export const KILLED: readonly number[] = [137, 143]

/** Why a process ended before its time. Who was killed may fare better the next time. */
function deathOf({ status, stderr, timedOut }: Exit): Fault {
  const words = stderr.split('\n').filter((text) => text !== '' && !text.startsWith('Command failed'))
  const last = words.at(-1) ?? `status ${status}`
  const wasKilled = timedOut || KILLED.includes(status)
  const killed = timedOut
    ? `it did not end within ${LIFETIME / 1000} s and was killed`
    : `it was killed (status ${status}), for want of memory perhaps`
  return new Fault(wasKilled ? CODE.tryAgain : CODE.tool, 'ip ended before its time', wasKilled ? killed : last)
}
