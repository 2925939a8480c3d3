/** STATUS: what the pods that are there live by. */
import type { NetConf } from '../cni/netconf.ts'
import { CODE, Fault } from '../core/fault.ts'
import { contains, formatCidr, parseIp, withoutPrefix } from '../core/ip.ts'
import type { RangeSet } from '../core/ranges.ts'
import type { SeenLink } from '../core/resource.ts'
import { gatewayDeviceOf } from '../core/vlans.ts'
import { type IndexEntry, listEntries } from '../host/index-files.ts'
import { readSysctl } from '../host/machine.ts'
import { isEntryDead, type Network } from './call.ts'

/** @throws Fault 51 with what they have lost */
export function requireHealth(
  { netconf, indexFolder }: Network,
  links: ReadonlyMap<string, SeenLink>,
  sets: readonly RangeSet[],
): void {
  const pods = listEntries(indexFolder).filter((entry) => isHere(entry, netconf))
  // The first one that lives will do: each costs a look at its namespace.
  if (pods.every(isEntryDead)) return
  const bridge = links.get(netconf.bridge)
  if (!bridge) throw limited(`the bridge ${netconf.bridge} is gone`, 'its pods are cut off: recreate them')
  if (!bridge.up) throw limited(`the bridge ${netconf.bridge} is down`, `run "ip link set ${netconf.bridge} up"`)
  if (!netconf.isGateway) return
  const name = gatewayDeviceOf(netconf)
  const lived = sets.filter((set) => pods.some((entry) => isOfSet(entry, set) && !isEntryDead(entry)))
  const device = links.get(name)
  for (const set of lived) {
    const gateways = set.flatMap(({ gateway, subnet }) =>
      gateway ? [formatCidr({ ip: gateway, prefix: subnet.prefix })] : [],
    )
    if (gateways.length === 0 || device?.addresses.some(({ cidr }) => gateways.includes(cidr))) continue
    const remedy = `run "ip addr add ${gateways[0]} dev ${name}"`
    throw limited(`${name} has lost its gateway address ${gateways.join(' or ')}`, remedy)
  }
  for (const [family, key] of [
    [4, 'net/ipv4/ip_forward'],
    [6, 'net/ipv6/conf/all/forwarding'],
  ] as const) {
    const isUsed = lived.some((set) => set.some(({ subnet }) => subnet.ip.family === family))
    if (!isUsed || readSysctl(key) === '1') continue
    throw limited(`forwarding of IPv${family} is off`, `run "sysctl -w ${key.replaceAll('/', '.')}=1"`)
  }
}

/** What another configuration has made of them no pod has lost: one of another bridge, VLAN or subnet has its own. */
function isHere({ done, bridge, vlan }: IndexEntry, netconf: NetConf): boolean {
  return done && bridge === netconf.bridge && (vlan ?? netconf.vlan) === netconf.vlan
}

function isOfSet({ addresses }: IndexEntry, set: RangeSet): boolean {
  return addresses.some((text) => {
    const ip = parseIp(withoutPrefix(text))
    return ip !== undefined && set.some(({ subnet }) => contains(subnet, ip))
  })
}

function limited(message: string, remedy: string): Fault {
  return new Fault(CODE.limited, message, remedy)
}
