import { line } from '../line.ts'
import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'

/** The sandbox end of the pair: up, or left as it was made, for the pod itself to set up. */
export const link: Kind<Of<'link'>> = {
  scope: 'attachment',
  whenPresent: 'refuse',
  name: (want) => `interface ${want.ifname}`,
  inspect(want, seen) {
    const have = seen.sandbox.get(want.ifname)
    if (!have) return ABSENT
    if (want.mac && have.mac !== want.mac) return different(want.mac, have.mac)
    // A later plugin of the chain may have lowered it (tuning does, and leaves the result as it was); what is larger does
    // not fit through the other end.
    if (want.mtu > 0 && have.mtu > want.mtu) return different(`mtu ${want.mtu}`, `mtu ${have.mtu}`)
    if (want.staysDown) return have.up ? different('down', 'up') : PRESENT
    return have.up ? PRESENT : different('up', 'down')
  },
  create: (want) => (want.staysDown ? [] : [{ tool: 'ip', on: 'sandbox', line: line`link set dev ${want.ifname} up` }]),
  remove: () => [], // it goes with the veth
}
