import { line } from '../line.ts'
import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'

/** The pair: made in one request, straight into the sandbox; it is atomic when either name is taken. */
export const veth: Kind<Of<'veth'>> = {
  scope: 'attachment',
  whenPresent: 'refuse',
  name: (want) => `veth ${want.host}`,
  inspect(want, seen) {
    const host = seen.host.get(want.host)
    if (!host) return ABSENT
    if (host.type !== 'veth') return different('a veth', `a ${host.type || 'device'}`)
    const inside = seen.sandbox.get(want.ifname)
    // CHECK alone has looked into the sandbox.
    if (inside && inside.index !== host.peer) {
      return different(`${want.ifname} as its other end (index ${inside.index})`, `index ${host.peer}`)
    }
    return PRESENT
  },
  create(want) {
    const mtu = want.mtu > 0 ? line` mtu ${want.mtu}` : ''
    const host = line`link add name ${want.host} address ${want.hostMac}` + mtu
    const peer = line` type veth peer name ${want.ifname} address ${want.mac}` + mtu + line` netns ${want.netns}`
    return [
      { tool: 'ip', on: 'host', line: host + peer },
      { tool: 'ip', on: 'host', line: line`link set dev ${want.host} alias ${want.label}` },
    ]
  },
  remove: (want) => [{ tool: 'ip', on: 'host', line: line`link del dev ${want.host}` }],
}
