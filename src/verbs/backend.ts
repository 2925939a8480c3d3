/** Who masquerades, nftables or iptables, and which tools that takes. */
import type { NetConf } from '../cni/netconf.ts'
import type { Request } from '../cni/request.ts'
import { chooseBackend, noteBackend } from '../host/backend.ts'
import type { Tool } from '../host/tools.ts'

/** The request with the backend that this machine has, where the configuration leaves it open. */
export function withBackend(request: Request): Request {
  const { netconf } = request
  if (!netconf.ipMasq) return request
  const ipMasqBackend = chooseBackend(netconf.ipMasqBackend)
  if (request.verb === 'ADD') noteBackend(ipMasqBackend, netconf.ipMasqBackend)
  return { ...request, netconf: { ...netconf, ipMasqBackend } }
}

export function usesIptables({ ipMasq, ipMasqBackend }: NetConf): boolean {
  return ipMasq && ipMasqBackend === 'iptables'
}

/** The tools for rules; what Pontoon has in tables of its own is always nftables'. */
export function ruleTools(netconf: NetConf): readonly Tool[] {
  const byIptables = usesIptables(netconf)
  return [
    ...((netconf.ipMasq && (!byIptables || netconf.vlan > 0)) || netconf.macspoofchk ? (['nft'] as const) : []),
    ...(byIptables ? iptablesTools(netconf) : []),
  ]
}

function iptablesTools({ ipam, runtimeConfig, ipMasq4, ipMasq6 }: NetConf): readonly Tool[] {
  const subnets = [...runtimeConfig.ipRanges, ...(ipam?.ranges ?? [])].flat().map(({ subnet }) => subnet)
  const has6 = subnets.some((subnet) => subnet.includes(':'))
  const has4 = !has6 || subnets.some((subnet) => !subnet.includes(':'))
  return [
    ...(has4 && ipMasq4 ? (['iptables-restore', 'iptables-save'] as const) : []),
    ...(has6 && ipMasq6 ? (['ip6tables-restore', 'ip6tables-save'] as const) : []),
  ]
}
