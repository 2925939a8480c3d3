/** Packet filters that drop what is forwarded. */
import { type FilterChain, letsThrough } from '../../core/filters.ts'
import { type Cidr, contains, formatCidr, parseCidr } from '../../core/ip.ts'
import { withoutPrefix } from '../../verbs/victims.ts'
import { type NetworkFacts, ofEach } from './facts.ts'

export const forwarding = ofEach((facts, { forwarding: chains, bridgeFilter }) => {
  const { netconf, plugins } = facts.network
  // That plugin's whole purpose is to accept each pod.
  if (plugins.includes('firewall')) return []
  const families = new Set(facts.sets.flat().map(({ subnet }) => subnet.ip.family))
  return chains
    .filter((chain) => chain.drops && chain.families.some((family) => families.has(family)))
    .filter((chain) => netconf.isGateway || bridgeFilter || chain.target.startsWith('bridge '))
    .filter((chain) => !letsThrough(chain, wordsOf(facts)) && !isCovered(chain, facts))
    .map((chain) => ({
      check: 'forward-drop',
      level: 'error',
      what: `${chain.by === 'iptables' ? nameOf(chain) : `nft chain ${chain.target}`} drops, and no rule accepts ${netconf.bridge}`,
      why: costOf(netconf.isGateway, bridgeFilter ?? false),
      fix: acceptance(chain, netconf.bridge),
      isSafe: false,
    }))
})

function costOf(isRouted: boolean, isBridgeFiltered: boolean): string {
  if (!isRouted) return 'pods can’t reach each other, since bridged packets pass it, too'
  return isBridgeFiltered
    ? 'pods reach neither the outside nor, since br_netfilter is on, each other'
    : 'pods can’t reach the outside, nor be reached from there'
}

const nameOf = ({ families }: FilterChain) => `the chain FORWARD of ${families[0] === 6 ? 'ip6tables' : 'iptables'}`

/** A rule that accepts any of them was made for the network. */
function wordsOf({ network: { netconf }, sets, rows }: NetworkFacts): readonly string[] {
  const subnets = sets.flat().map(({ subnet }) => formatCidr(subnet))
  return [netconf.bridge, ...subnets, ...subnets.map(withoutPrefix), ...rows.map(({ address }) => address)]
}

/** Does a rule name a larger net, that of all pods of a cluster perhaps? */
function isCovered({ accepts }: FilterChain, { sets }: NetworkFacts): boolean {
  const subnets = sets.flat().map(({ subnet }) => subnet)
  return accepts.some((rule) =>
    netsIn(rule).some((net) =>
      subnets.some(({ ip, prefix }) => net.ip.family === ip.family && net.prefix <= prefix && contains(net, ip)),
    ),
  )
}

/** As iptables-save prints them, and as nft does in JSON. */
function netsIn(rule: string): readonly Cidr[] {
  const found = [
    ...[...rule.matchAll(/ -[sd] (\S+)/g)].map(([, net = '']) => net),
    ...[...rule.matchAll(/"addr":"([^"]+)","len":(\d+)/g)].map(([, address, length]) => `${address}/${length}`),
  ]
  return found.flatMap((text) => parseCidr(text) ?? []).filter(({ prefix }) => prefix > 0)
}

function acceptance({ by, families, target }: FilterChain, bridge: string): string {
  if (target.startsWith('inet firewalld ')) {
    return `firewall-cmd --permanent --zone=trusted --add-interface=${bridge} && firewall-cmd --reload`
  }
  if (by === 'nft') {
    return ['iifname', 'oifname'].map((way) => `nft 'insert rule ${target} ${way} "${bridge}" accept'`).join(' && ')
  }
  const tool = families[0] === 6 ? 'ip6tables' : 'iptables'
  return ['-i', '-o'].map((way) => `${tool} -I FORWARD ${way} ${bridge} -j ACCEPT`).join(' && ')
}
