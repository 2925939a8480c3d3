/**
 * One `ip -batch -` process that is talked with: lines go in, JSON comes out, and what comes out decides which lines
 * go in next. So a verb reads and acts on one namespace with a single process.
 *
 * `-force` makes `ip` go on after a failing line, so that the end of the lines is always reached: it is known by the
 * answer to a question about `lo`, which every namespace has. Whether a line failed is known for sure when the
 * process has ended; until then the caller looks at what it finds.
 *
 * Links are asked for by `addr show`, never by `link show`: iproute2 remembers the latter, and leaves the addresses
 * out of every later `addr show` of the same batch (the static `do_link` of ip/ipaddress.c).
 */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import type { Child, Exit } from '../engine/engine.ts'
import { findTool, TOOL_ENV } from './tools.ts'

/** Milliseconds that one `ip` process may live. Runtimes give a plugin a minute or more. */
const LIFETIME = 30_000
const MARK = 'addr show dev lo'

/** What a failed line said: `RTNETLINK answers: File exists`. */
export interface LineError {
  /** The line as it was given. */
  readonly line: string
  readonly text: string
}

export interface Session {
  /** Runs lines; resolves to the JSON documents that they printed, in order. An empty list when the process died. */
  run(lines: readonly string[]): Promise<readonly unknown[]>
  /** Ends the process; resolves to what failed, in order. */
  close(): Promise<readonly LineError[]>
}

/**
 * @param netns path of the namespace to enter; undefined for the plugin's own
 * @throws Fault 104 when a tool is missing
 */
export function openSession(netns?: string): Session {
  const ip = [findTool('ip'), '-force', '-details', '-json', '-batch', '-'] as const
  const argv = netns === undefined ? ip : ([findTool('nsenter'), `--net=${netns}`, ...ip] as const)
  let text = ''
  let notify: (() => void) | undefined
  const child: Child = engine.spawn({
    argv: [...argv],
    env: TOOL_ENV,
    deadline: LIFETIME,
    onStdout(piece) {
      text += piece
      notify?.()
    },
  })
  const sent: string[] = []
  let ended: Exit | undefined
  void child.exit.then((exit) => {
    ended = exit
    notify?.()
  })

  async function run(lines: readonly string[]): Promise<readonly unknown[]> {
    text = ''
    sent.push(...lines, MARK)
    child.write(`${[...lines, MARK].join('\n')}\n`)
    for (;;) {
      const documents = readUntilMark(text)
      if (documents) return documents
      if (ended) return []
      await new Promise<void>((resolve) => {
        notify = resolve
      })
      notify = undefined
    }
  }

  async function close(): Promise<readonly LineError[]> {
    child.end()
    return readErrors(await child.exit, sent)
  }

  return { run, close }
}

/** The documents before the answer about `lo`, or undefined when that has not come yet. */
function readUntilMark(text: string): readonly unknown[] | undefined {
  if (!text.endsWith('\n') || !text.includes('"ifname":"lo"')) return undefined
  const documents: unknown[] = []
  for (const line of text.split('\n')) {
    if (!line.startsWith('[')) continue
    const document = parseJson(line)
    if (isMark(document)) return documents
    documents.push(document)
  }
  return undefined
}

function isMark(document: unknown): boolean {
  return Array.isArray(document) && (document as { ifname?: unknown }[]).some((item) => item.ifname === 'lo')
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
    errors.push({ line, text: said.join('; ') || 'failed' })
    said = []
  }
  if (exit.timedOut) errors.push({ line: '', text: `ip did not end within ${LIFETIME / 1000} s and was killed` })
  else if (errors.length === 0) errors.push({ line: '', text: said.join('; ') || `ended with status ${exit.status}` })
  return errors
}
