/** Keys that the reference knows and Pontoon does not yet: refused by name, since ignoring them would lie. */
import type { NetConf } from '../cni/netconf.ts'
import { CODE, Fault } from '../core/fault.ts'

/** @throws Fault 2 naming the key and its value */
export function refuseUnsupported(netconf: NetConf): void {
  const given: readonly (readonly [string, unknown, boolean])[] = [
    ['ipMasqBackend', netconf.ipMasqBackend, netconf.ipMasqBackend === 'iptables'],
  ]
  const first = given.find(([, , isUsed]) => isUsed)
  if (!first) return
  const [key, value] = first
  const remedy = `found ${JSON.stringify(value)}; remove the key, or use the reference plugin for this network`
  throw new Fault(CODE.unsupportedField, `the key ${key} is not supported`, remedy)
}

/** Every namespace has a `lo`, and it is no bridge. */
export function loopbackFault({ bridge }: NetConf): Fault | undefined {
  if (bridge !== 'lo') return undefined
  return new Fault(CODE.conflict, 'lo is not a bridge', 'give the network a bridge of another name: "bridge"')
}
