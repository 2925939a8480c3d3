/** Keys that the reference knows and Pontoon does not yet: refused by name, since ignoring them would lie. */
import type { NetConf } from '../cni/netconf.ts'
import { isOwnIpam } from '../cni/netconf.ts'
import { CODE, Fault } from '../core/fault.ts'

/** @throws Fault 2 naming the key and its value */
export function refuseUnsupported(netconf: NetConf): void {
  const given: readonly (readonly [string, unknown, boolean])[] = [
    ['vlan', netconf.vlan, netconf.vlan !== 0],
    ['vlanTrunk', netconf.vlanTrunk, (netconf.vlanTrunk?.length ?? 0) > 0],
    ['preserveDefaultVlan', netconf.preserveDefaultVlan, !netconf.preserveDefaultVlan],
    ['macspoofchk', netconf.macspoofchk, netconf.macspoofchk],
    ['disableContainerInterface', netconf.disableContainerInterface, netconf.disableContainerInterface],
    ['ipMasqBackend', netconf.ipMasqBackend, netconf.ipMasqBackend === 'iptables'],
    ['ipam.type', netconf.ipam?.type, netconf.ipam !== undefined && !isOwnIpam(netconf.ipam.type)],
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
