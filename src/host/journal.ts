/**
 * The log's line of a call as an entry of systemd's journal, by logger(1) of util-linux: the line is its MESSAGE, and
 * what one searches for are fields of their own.
 *
 * The call does not wait for the journal, which may be busy or stopped: logger outlives it by some milliseconds, and at
 * most by a second. So an entry has to fit into what a child's stdin takes at once.
 */
import * as engine from '#engine'
import { statIfThere } from './files.ts'
import { findTool, TOOL_ENV } from './tools.ts'

/** Where systemd-journald takes entries of its own protocol: see systemd's "Native Journal Protocol". */
const SOCKET = '/run/systemd/journal/socket'
/** In seconds; for timeout(1). */
const DEADLINE = '1'
/** In bytes. What `Child.write` hands over at once. */
const LONGEST = 4096

/** What is told of a call; docs/commands.md documents it. */
export interface CallLine {
  readonly time: string
  readonly verb: string | undefined
  readonly network: unknown
  readonly containerID: string | undefined
  readonly ifname: string | undefined
  readonly netns: string | undefined
  readonly pod: string | undefined
  readonly ms: number
  readonly outcome: 'ok' | 'failed'
  readonly code?: number
  readonly msg?: string | undefined
  readonly details?: string | undefined
  readonly traceparent: string | undefined
  readonly pid: number
}

/** @throws Fault, FileError when there is no journal, or nothing that speaks with it */
export function sendToJournal(line: CallLine): void {
  if (!statIfThere(SOCKET)) throw new Error(`the journal does not run: there is no ${SOCKET}`)
  const argv = [findTool('timeout'), '-s', 'KILL', DEADLINE, findTool('logger'), '--journald'] as const
  const child = engine.spawn({ argv, env: TOOL_ENV, deadline: Number(DEADLINE) * 1000 })
  child.write(entryOf(line))
  child.end()
}

/** One `FIELD=value` a line, as logger reads them. The longest texts give way when it is too long. Pure. */
export function entryOf(line: CallLine): string {
  const brief = { ...line, details: undefined }
  const least = { ...brief, network: undefined, netns: undefined, msg: line.msg?.slice(0, 100), traceparent: undefined }
  const entry = [line, brief, least].map(fieldsOf).find((text) => bytesOf(text) <= LONGEST)
  if (entry === undefined) throw new Error('the line is too long for the journal')
  return entry
}

function fieldsOf(line: CallLine): string {
  const { verb, network, containerID, ifname, pod, outcome, code, pid } = line
  const isOk = outcome === 'ok'
  const fields = {
    MESSAGE: JSON.stringify(line),
    // syslog(3): "informational" and "error".
    PRIORITY: isOk ? 6 : 3,
    SYSLOG_IDENTIFIER: 'pontoon',
    SYSLOG_PID: pid,
    PONTOON_VERB: verb,
    PONTOON_NETWORK: network,
    PONTOON_CONTAINER_ID: containerID,
    PONTOON_IFNAME: ifname,
    PONTOON_POD: pod,
    PONTOON_OUTCOME: outcome,
    PONTOON_CODE: code,
  }
  return Object.entries(fields)
    .filter(([name, value]) => value !== undefined && isFieldOf(name, value))
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** A value with a line break would be read as another field: what a caller sends is not always what it should be. */
function isFieldOf(name: string, value: unknown): boolean {
  return (
    name === 'MESSAGE' || typeof value === 'number' || (typeof value === 'string' && /^[\x20-\x7e]{1,300}$/.test(value))
  )
}

function bytesOf(text: string): number {
  return encodeURIComponent(text).replace(/%../g, 'x').length
}
