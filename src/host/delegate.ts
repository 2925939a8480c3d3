/** Another IPAM plugin, run as the specification says ("Section 4: Plugin Delegation"): same environment, same stdin. */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import { statIfThere } from './files.ts'
import { lookUpTool } from './tools.ts'

export interface Delegation {
  /** `ipam.type` */
  readonly type: string
  /** The folders of CNI_PATH. */
  readonly path: readonly string[]
  readonly stdin: string
}

/** Milliseconds; runtimes wait two minutes and more for an ADD, and dhcp needs some for a slow server. */
const LIFETIME = 60_000

/**
 * Runs the plugin with a verb. What it says on stderr goes to the caller's stderr.
 * @returns what it printed
 * @throws Fault with the plugin's own code, message and details; 106 when it is missing, hangs, or breaks the protocol
 */
export async function runDelegate(delegation: Delegation, verb: string): Promise<string> {
  const { type, path, stdin } = delegation
  const file = path.map((folder) => `${folder}/${type}`).find((name) => statIfThere(name)?.kind === 'file')
  if (file === undefined) {
    const remedy = `looked in CNI_PATH: ${path.join(', ') || 'which is empty'}; install it there, or correct ipam.type`
    throw new Fault(CODE.delegate, `the IPAM plugin ${type} is missing`, remedy)
  }
  const child = engine.spawn({
    argv: [...guarded(), file],
    env: { ...engine.environment(), CNI_COMMAND: verb },
    deadline: LIFETIME,
  })
  child.write(stdin)
  child.end()
  const exit = await child.exit
  if (exit.stderr !== '') engine.writeStderr(exit.stderr)
  if (exit.status === 0) return exit.stdout
  throw readFault(type, verb, exit)
}

/** The plugin is to end with its caller: one that goes on would reserve addresses for nobody. */
function guarded(): readonly [] | readonly [string, ...string[]] {
  const setpriv = lookUpTool('setpriv')
  return setpriv === undefined ? [] : [setpriv, '--pdeathsig', 'KILL', '--']
}

interface Ended {
  readonly status: number
  readonly stdout: string
  readonly timedOut: boolean
}

function readFault(type: string, verb: string, { status, stdout, timedOut }: Ended): Fault {
  if (timedOut) {
    const remedy = `it did not end within ${LIFETIME / 1000} s and was killed; try again later`
    return new Fault(CODE.tryAgain, `the IPAM plugin ${type} hangs in ${verb}`, remedy)
  }
  const told = parseObject(stdout)
  if (typeof told?.code === 'number' && told.code > 0 && typeof told.msg === 'string') {
    return new Fault(
      told.code,
      told.msg,
      typeof told.details === 'string' ? told.details : `by the IPAM plugin ${type}`,
    )
  }
  const found = `ended with status ${status} and printed ${JSON.stringify(stdout.slice(0, 200))}`
  return new Fault(CODE.delegate, `the IPAM plugin ${type} failed in ${verb}`, `expected an error object; it ${found}`)
}

/** What is between the braces, undefined when it is no JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
