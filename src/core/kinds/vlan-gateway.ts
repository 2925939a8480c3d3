import { line } from '../line.ts'
import { ABSENT, different, type Kind, type Observed, type Of, PRESENT, type SeenLink } from '../resource.ts'

/**
 * The host's own place in a VLAN of the bridge: a pair whose one end has the gateway's addresses and whose other end
 * is a port in that VLAN. Both are made in one request, so that the port's index is the one just below, as it is with
 * the reference.
 */
export const vlanGateway: Kind<Of<'vlanGateway'>> = {
  scope: 'network',
  whenPresent: 'keep',
  name: (want) => `VLAN gateway ${want.name}`,
  inspect(want, seen) {
    const have = seen.host.get(want.name)
    if (!have) return ABSENT
    if (have.type !== 'veth') return different('a veth', `a ${have.type || 'device'}`)
    const port = portOf(have, seen)
    if (!port) return different(`a port of ${want.bridge} as its other end`, have.peerName ?? 'one elsewhere')
    if (port.master !== want.bridge) return different(`a port of ${want.bridge}`, `one of ${port.master ?? 'nothing'}`)
    return have.up && port.up ? PRESENT : different('up', 'down')
  },
  create: (want) => [
    ip(
      line`link add name ${want.name} address ${want.mac}` +
        (want.mtu > 0 ? line` mtu ${want.mtu}` : '') +
        line` type veth peer name ${want.port}` +
        (want.mtu > 0 ? line` mtu ${want.mtu}` : ''),
    ),
    // Pods can send router advertisements here as they can to a bridge.
    { tool: 'sysctl', key: `net/ipv6/conf/${want.name}/accept_ra`, value: '0', optional: true },
    ...plug(want, want.port),
  ],
  remove: (want) => [ip(line`link del dev ${want.name}`)],
  repair(want, seen) {
    const port = portOf(seen.host.get(want.name), seen)
    return port ? plug(want, port.name) : []
  },
}

const ip = (text: string) => ({ tool: 'ip', on: 'host', line: text }) as const

function plug({ name, bridge }: Of<'vlanGateway'>, port: string) {
  return [ip(line`link set dev ${port} master ${bridge} up`), ip(line`link set dev ${name} up`)]
}

/** The other end, when it is in the same namespace and was looked at. */
function portOf(have: SeenLink | undefined, seen: Observed): SeenLink | undefined {
  return have?.type === 'veth' && have.peerName ? seen.host.get(have.peerName) : undefined
}
