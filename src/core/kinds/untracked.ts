import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'

const TABLE = 'inet pontoon'
const SET = `${TABLE} vlan_gateways`

/**
 * What is bridged to or from a VLAN gateway is not tracked on its way over the bridge.
 *
 * A pod's packet to the outside is bridged to the gateway's port first. Where br_netfilter shows bridged packets to
 * the packet filter (bridge-nf-call-iptables, the default wherever it is loaded), the connection's address would be
 * settled there, and not be masqueraded any more where the packet is routed.
 */
export const untracked: Kind<Of<'untracked'>> = {
  scope: 'network',
  whenPresent: 'keep',
  name: (want) => `masquerading through ${want.gateway}`,
  inspect(want, seen) {
    if (!seen.filter.elements.has(`${SET} ${want.bridge} . ${want.mac}`)) return ABSENT
    return seen.filter.served.has(SET) ? PRESENT : different('a rule that leaves bridged packets untracked', 'none')
  },
  create: (want) => [{ tool: 'nft', lines: [element('add', want)], whenMissing: SET_UP }],
  remove: (want) => [{ tool: 'nft', lines: [element('add', want), element('delete', want)], whenMissing: [] }],
}

function element(verb: 'add' | 'delete', { bridge, gateway, mac }: Of<'untracked'>): string {
  const comment = verb === 'add' ? ` comment "${gateway}"` : ''
  return `${verb} element ${SET} { "${bridge}" . ${mac}${comment} }`
}

/** On its way over the bridge a packet has come in through the bridge, to nft; where it is routed, through the gateway. */
const SET_UP = [
  `add table ${TABLE}`,
  `create set ${SET} { type ifname . ether_addr; }`,
  `add chain ${TABLE} bridged { type filter hook prerouting priority -300; }`,
  ...['daddr', 'saddr'].map((field) => `add rule ${TABLE} bridged iifname . ether ${field} @vlan_gateways notrack`),
]
