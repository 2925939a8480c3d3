/** What is in the way of a network's gateways on a device that is there: by it every ADD is refused. */
import type { NetConf } from '../cni/netconf.ts'
import { formatCidr } from '../core/ip.ts'
import { gateway } from '../core/kinds/gateway.ts'
import type { Range, RangeSet } from '../core/ranges.ts'
import type { Of, SeenLink } from '../core/resource.ts'
import { gatewayDeviceOf } from '../core/vlans.ts'
import { observed } from '../host/observe.ts'
import type { Network } from './call.ts'
import { withFormerGateways } from './gateways.ts'

export interface Obstructed {
  readonly resource: Of<'gateway'>
  readonly reason: string
}

/** Nothing of a set in which one range can have its gateway: that one has addresses to give. */
export async function obstructedGateways(
  network: Network,
  sets: readonly RangeSet[],
  links: ReadonlyMap<string, SeenLink>,
): Promise<readonly Obstructed[]> {
  const { netconf } = network
  if (!netconf.isGateway) return []
  const wanted = sets.flat().flatMap((range) => wantedBy(range, netconf))
  const seen = observed({ host: links })
  const refused = new Map<string, Obstructed>()
  for (const resource of await withFormerGateways(network, wanted)) {
    if (resource.kind !== 'gateway') continue
    const finding = gateway.inspect(resource, seen)
    if (finding.is !== 'different' || gateway.repair?.(resource, seen).length) continue
    refused.set(formatCidr(resource.cidr), { resource, reason: `want ${finding.want}, have ${finding.have}` })
  }
  return sets.flatMap((set) => {
    const found = set.map((range) =>
      wantedBy(range, netconf).flatMap(({ cidr }) => refused.get(formatCidr(cidr)) ?? []),
    )
    return found.every(({ length }) => length > 0) ? [...new Set(found.flat())] : []
  })
}

function wantedBy({ gateway: ip, subnet }: Range, netconf: NetConf): readonly Of<'gateway'>[] {
  if (!ip) return []
  const cidr = { ip, prefix: subnet.prefix }
  return [{ kind: 'gateway', bridge: gatewayDeviceOf(netconf), cidr, force: netconf.forceAddress }]
}
