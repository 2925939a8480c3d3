import { commentKey, commentOf } from '../attachment.ts'
import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'
import { additionOf, deletionOf } from './masquerade.ts'

const TABLE = 'bridge pontoon'
/** The ports whose frames are looked at. */
const PORTS = `${TABLE} guarded_ports`
/** What each of them may send from. */
const MACS = `${TABLE} guarded_macs`

/**
 * Nothing leaves the pod from another hardware address than its own, nor claims one in ARP. Two elements a port in
 * sets that constant rules look into: the rules' number doesn't grow with the pods', and a port's elements can be
 * removed by their names when the pod is long gone.
 */
export const spoofcheck: Kind<Of<'spoofcheck'>> = {
  scope: 'attachment',
  whenPresent: 'keep',
  name: (want) => `macspoofchk ${want.host}`,
  inspect(want, seen) {
    const elements = guardsOf(want)
    const comments = elements.map((element) => seen.filter.elements.get(element))
    if (comments.every((comment) => comment === undefined)) return seen.guarded.has(want.host) ? PRESENT : ABSENT
    if (comments[1] === undefined) return different(`frames from ${want.mac} alone`, 'none let through')
    if (comments[0] === undefined) return different('its frames looked at', 'all let through')
    if (!seen.filter.served.has(MACS)) return different('a rule that drops the others', 'none')
    const mine = commentOf(want.attachment)
    const alien = comments.find((comment) => commentKey(comment ?? '') !== commentKey(mine))
    return alien === undefined ? PRESENT : different(mine, alien)
  },
  create: (want) => [
    { tool: 'nft', lines: guardsOf(want).map((element) => additionOf(element, want.attachment)), whenMissing: SET_UP },
  ],
  remove: (want) => [{ tool: 'nft', lines: guardsOf(want).flatMap(deletionOf), whenMissing: [] }],
}

/** How its elements are called: `bridge pontoon guarded_ports veth…`. */
export function guardsOf({ host, mac }: Pick<Of<'spoofcheck'>, 'host' | 'mac'>): readonly string[] {
  return [`${PORTS} ${host}`, `${MACS} ${host} . ${mac}`]
}

/**
 * A frame with a VLAN tag has lost it by then, so `meta protocol` tells ARP where `ether type` would not. `create`
 * makes the second of two that race fail as a whole.
 */
const SET_UP = [
  `add table ${TABLE}`,
  `create set ${PORTS} { type ifname; }`,
  `create set ${MACS} { type ifname . ether_addr; }`,
  `add chain ${TABLE} spoofcheck { type filter hook prerouting priority -300; }`,
  `add rule ${TABLE} spoofcheck iifname @guarded_ports iifname . ether saddr != @guarded_macs drop`,
  `add rule ${TABLE} spoofcheck meta protocol arp iifname @guarded_ports iifname . arp saddr ether != @guarded_macs drop`,
]
