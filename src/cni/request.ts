/**
 * One call of the plugin, read from its environment and stdin.
 *
 * The order of the checks is the reference's, since tests of runtimes look at the code of the first fault: variables,
 * JSON, network name, command, version; then the values of the configuration.
 */
import { CODE, Fault } from '../core/fault.ts'
import { type CniArgs, parseArgs } from './args.ts'
import { isObject, memberOf, show } from './conform.ts'
import { parseHead } from './head.ts'
import { isIdentifier, linkNameProblem } from './names.ts'
import { emptyNetConf, type NetConf, parseNetConf } from './netconf.ts'
import { isSupported, NEWEST_VERSION, requireVersion, type Verb } from './version.ts'

export type { CniArgs, Verb }

export interface Request {
  readonly verb: Verb
  /** '' where the verb has none (STATUS, GC, VERSION), as with `ifname`. */
  readonly containerID: string
  readonly ifname: string
  /** As it came; '' when not given. */
  readonly netns: string
  /** The directories of CNI_PATH. */
  readonly path: readonly string[]
  readonly args: CniArgs
  /** CNI_NETNS_OVERRIDE: the container may live in the plugin's own namespace. */
  readonly allowOwnNetns: boolean
  readonly netconf: NetConf
  /** As it came, for delegated plugins. */
  readonly stdin: string
}

export type ReadEnv = (name: string) => string | undefined

const REQUIRED: Readonly<Record<Verb, readonly string[]>> = {
  ADD: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME'],
  CHECK: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME'],
  DEL: ['CNI_CONTAINERID', 'CNI_IFNAME'],
  STATUS: [],
  GC: [],
  VERSION: [],
}

/**
 * Reads and checks everything. CNI_COMMAND is not empty: without it the executable is not called as a plugin.
 * @param readStdin called once, after the variables were found to be right
 * @throws Fault code 4 for the environment, 5 when stdin can't be read, 6 when it is no JSON object, 7 for what the
 *   configuration says, 1 for its version (specification 1.1.0, "Parameters" and "Error")
 */
export function parseRequest(env: ReadEnv, readStdin: () => string): Request {
  const command = env('CNI_COMMAND') ?? ''
  const verb = Object.hasOwn(REQUIRED, command) ? (command as Verb) : undefined
  const variables = readVariables(env, verb)
  if (verb === 'VERSION') return { verb, ...variables, ...readForVersion(readStdin) }
  const stdin = readOr5(readStdin)
  const head = parseHead(stdin)
  if (verb === undefined) {
    const remedy = `known commands, in capital letters: ${Object.keys(REQUIRED).join(', ')}`
    throw new Fault(CODE.invalidEnvironment, `CNI_COMMAND is unknown: ${show(command)}`, remedy)
  }
  requireVersion(verb, head.cniVersion)
  return { verb, ...variables, netconf: parseNetConf(head, verb), stdin }
}

/** The version that an answer to this stdin is written in: undefined when it names none that is supported. */
export function spokenVersion(stdin: string): string | undefined {
  try {
    const value: unknown = JSON.parse(stdin)
    const version = isObject(value) ? memberOf(value, 'cniVersion') : undefined
    return typeof version === 'string' && isSupported(version) ? version : undefined
  } catch {
    return undefined
  }
}

type Variables = Pick<Request, 'containerID' | 'ifname' | 'netns' | 'path' | 'args' | 'allowOwnNetns'>

function readVariables(env: ReadEnv, verb: Verb | undefined): Variables {
  const required = verb === undefined ? [] : REQUIRED[verb]
  const read = (name: string) => env(name) ?? ''
  const used = (name: string) => (required.includes(name) ? read(name) : '')
  const containerID = used('CNI_CONTAINERID')
  const ifname = used('CNI_IFNAME')
  checkContainerID(containerID)
  checkIfname(ifname)
  const missing = required.filter((name) => read(name) === '')
  if (missing.length > 0) {
    const what = missing.length > 1 ? 'variables are' : 'variable is'
    const remedy = `${verb} needs ${required.join(', ')}`
    throw new Fault(CODE.invalidEnvironment, `environment ${what} missing: ${missing.join(', ')}`, remedy)
  }
  return {
    containerID,
    ifname,
    netns: required.length > 0 ? read('CNI_NETNS') : '',
    path: read('CNI_PATH')
      .split(':')
      .filter((directory) => directory !== ''),
    args: parseArgs(required.length > 0 ? read('CNI_ARGS') : '', verb === 'DEL'),
    allowOwnNetns: ['1', 'true'].includes(read('CNI_NETNS_OVERRIDE').toLowerCase()),
  }
}

function checkContainerID(containerID: string): void {
  if (containerID === '' || isIdentifier(containerID)) return
  const remedy = 'it starts with a letter or digit; letters, digits, underscore, dot and hyphen may follow'
  throw new Fault(CODE.invalidEnvironment, `CNI_CONTAINERID ${show(containerID)} contains invalid characters`, remedy)
}

function checkIfname(ifname: string): void {
  const problem = ifname === '' ? undefined : linkNameProblem(ifname)
  if (problem === undefined) return
  const remedy = 'give the interface a name of 1 to 15 plain characters, such as eth0'
  throw new Fault(CODE.invalidEnvironment, `CNI_IFNAME ${show(ifname)} ${problem}`, remedy)
}

function readOr5(readStdin: () => string): string {
  try {
    return readStdin()
  } catch (error) {
    if (error instanceof Fault) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new Fault(CODE.io, 'the network configuration on stdin could not be read', reason, { cause: error })
  }
}

/** VERSION is answered whatever comes on stdin, in its version where there is one. */
function readForVersion(readStdin: () => string): Pick<Request, 'netconf' | 'stdin'> {
  let stdin = ''
  try {
    stdin = readStdin()
  } catch {
    // Nothing is needed of it.
  }
  return { netconf: emptyNetConf(spokenVersion(stdin) ?? NEWEST_VERSION), stdin }
}
