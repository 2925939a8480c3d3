import { line } from '../line.ts'
import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'

/**
 * The bridge gets its own hardware address at creation: without one it takes the lowest of its ports', so that pods
 * coming and going would change the gateway's address under the others.
 */
export const bridge: Kind<Of<'bridge'>> = {
  scope: 'network',
  whenPresent: 'keep',
  name: (want) => `bridge ${want.name}`,
  inspect(want, seen) {
    const have = seen.host.get(want.name)
    if (!have) return ABSENT
    if (have.type !== 'bridge') return different('a bridge', `a ${have.type || 'device'}`)
    if (want.vlanFiltering && have.vlanFiltering !== 'on') {
      return different('VLAN filtering on', have.vlanFiltering ?? 'off')
    }
    if (!have.up) return different('up', 'down')
    return want.promisc && !have.promisc ? different('promisc on', 'promisc off') : PRESENT
  },
  create: (want) => [
    {
      tool: 'ip',
      on: 'host',
      line:
        line`link add name ${want.name} address ${want.mac}` +
        (want.mtu > 0 ? line` mtu ${want.mtu}` : '') +
        ' type bridge' +
        (want.vlanFiltering ? ' vlan_filtering 1' : ''),
    },
    // The bridge's routes are Pontoon's to give, not those of whoever sends router advertisements from a pod.
    { tool: 'sysctl', key: `net/ipv6/conf/${want.name}/accept_ra`, value: '0', optional: true },
    ...raise(want),
  ],
  remove: (want) => [{ tool: 'ip', on: 'host', line: line`link del dev ${want.name}` }],
  repair(want, seen) {
    const have = seen.host.get(want.name)
    // To switch filtering on would cut off whatever else is on the bridge: that is not for an ADD to decide.
    const isRaisable = have?.type === 'bridge' && (!want.vlanFiltering || have.vlanFiltering === 'on')
    return isRaisable ? raise(want) : []
  },
}

function raise(want: Of<'bridge'>) {
  const promisc = want.promisc ? ' promisc on' : ''
  return [{ tool: 'ip', on: 'host', line: line`link set dev ${want.name} up` + promisc }] as const
}
