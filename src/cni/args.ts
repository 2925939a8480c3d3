/** CNI_ARGS: `KEY=value` pairs, split at `;` (specification 1.1.0, "Parameters"; the keys are conventions). */
import { CODE, Fault } from '../core/fault.ts'

export interface Pod {
  /** '' when the runtime knows no namespaces. */
  readonly namespace: string
  readonly name: string
  readonly uid?: string
}

export interface CniArgs {
  readonly mac?: string
  readonly ips: readonly string[]
  readonly pod?: Pod
}

const KNOWN = [
  'IgnoreUnknown',
  'MAC',
  'IP',
  'K8S_POD_NAMESPACE',
  'K8S_POD_NAME',
  'K8S_POD_INFRA_CONTAINER_ID',
  'K8S_POD_UID',
]

/**
 * Keys are case-sensitive; the last of duplicates counts; an empty value is an absent one.
 * @param lenient skip what is wrong: DEL must not fail for it
 * @throws Fault code 4
 */
export function parseArgs(text: string, lenient = false): CniArgs {
  const pairs = new Map<string, string>()
  for (const pair of text === '' ? [] : text.split(';')) {
    const [key, value, ...more] = pair.split('=')
    if (key !== undefined && value !== undefined && more.length === 0) pairs.set(key, value)
    else if (!lenient) throw wrong(`has the pair "${pair}"`, 'write KEY=value;KEY=value, each pair with one "="')
  }
  if (!lenient) refuseUnknown(pairs)
  const value = (key: string) => pairs.get(key) || undefined
  const mac = value('MAC')
  const name = value('K8S_POD_NAME')
  const uid = value('K8S_POD_UID')
  return {
    ...(mac && { mac }),
    ips: (value('IP') ?? '').split(',').filter((ip) => ip !== ''),
    ...(name && { pod: { namespace: value('K8S_POD_NAMESPACE') ?? '', name, ...(uid && { uid }) } }),
  }
}

function refuseUnknown(pairs: ReadonlyMap<string, string>): void {
  const ignore = (pairs.get('IgnoreUnknown') ?? '0').toLowerCase()
  if (!['0', '1', 'false', 'true'].includes(ignore)) {
    throw wrong(`has IgnoreUnknown=${ignore}`, 'IgnoreUnknown is 1, true, 0 or false')
  }
  const unknown = [...pairs.keys()].filter((key) => !KNOWN.includes(key))
  if (unknown.length > 0 && ignore !== '1' && ignore !== 'true') {
    const remedy = `known are ${KNOWN.join(', ')}; IgnoreUnknown=1 allows others`
    throw wrong(`has the unknown ${unknown.length > 1 ? 'keys' : 'key'} ${unknown.join(', ')}`, remedy)
  }
}

function wrong(what: string, remedy: string): Fault {
  return new Fault(CODE.invalidEnvironment, `CNI_ARGS ${what}`, remedy)
}
