/**
 * The log of calls: one line of JSON for each, appended to a file or sent to the journal. Off unless the
 * configuration's `log` or PONTOON_LOG asks for it. It never fails the call, and is never on stdout.
 *
 * The file is opened for each line, and a line is one write: many processes may append at once, and whoever rotates
 * the file may move it away at any time.
 */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import { type CallLine, sendToJournal } from './journal.ts'

/** The value of `log` that is no path. */
const JOURNAL = 'journal'

/** What is known at the end of a call. */
export interface CallEnd {
  readonly stdin: string
  /** Milliseconds since the process came to its first line. */
  readonly ms: number
  /** What was thrown; undefined when the call succeeded. */
  readonly error?: unknown
}

export function logCall(end: CallEnd): void {
  try {
    const conf = parseQuietly(end.stdin)
    const asked = engine.readEnv('PONTOON_LOG')
    // Where the configuration's value is neither, the call was refused, which says it all.
    const place = asked || (isPlace(conf.log) ? conf.log : undefined)
    if (!place) return
    if (!isPlace(place)) throw new Error('PONTOON_LOG is neither an absolute path nor "journal"')
    const line = lineOf(end, conf)
    if (place === JOURNAL) sendToJournal(line)
    else engine.appendFile(place, `${JSON.stringify(line)}\n`, 0o600)
  } catch (error) {
    engine.writeStderr(`pontoon: can't log: ${error instanceof Error ? error.message : error}\n`)
  }
}

function isPlace(value: unknown): value is string {
  return typeof value === 'string' && (value === JOURNAL || value.startsWith('/'))
}

function parseQuietly(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** The documented shape. Members without a value are left out. */
function lineOf({ ms, error }: CallEnd, conf: Readonly<Record<string, unknown>>): CallLine {
  const args = new Map((engine.readEnv('CNI_ARGS') ?? '').split(';').map((pair) => pairOf(pair)))
  const pod = args.get('K8S_POD_NAME')
  return {
    time: new Date(engine.now()).toISOString(),
    verb: engine.readEnv('CNI_COMMAND'),
    network: conf.name,
    containerID: engine.readEnv('CNI_CONTAINERID') || undefined,
    ifname: engine.readEnv('CNI_IFNAME') || undefined,
    netns: engine.readEnv('CNI_NETNS') || undefined,
    pod: pod && `${args.get('K8S_POD_NAMESPACE') ?? ''}/${pod}`,
    ms: Math.round(ms * 10) / 10,
    ...(error === undefined ? { outcome: 'ok' } : outcomeOf(error)),
    traceparent: engine.readEnv('TRACEPARENT') || undefined,
    pid: engine.processId(),
  }
}

function pairOf(pair: string): readonly [string, string] {
  const at = pair.indexOf('=')
  return [pair.slice(0, at), pair.slice(at + 1)]
}

function outcomeOf(error: unknown): Pick<CallLine, 'outcome' | 'code' | 'msg' | 'details'> {
  if (error instanceof Fault) {
    return { outcome: 'failed', code: error.code, msg: error.message, details: error.details || undefined }
  }
  return { outcome: 'failed', code: CODE.bug, msg: error instanceof Error ? error.message : String(error) }
}
