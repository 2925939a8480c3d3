/** What would be in the way of a network's first ADD on a bridge that is there. */

import { formatCidr } from '../../core/ip.ts'
import { kindOf } from '../../core/kinds.ts'
import type { SeenLink } from '../../core/resource.ts'
import { observed } from '../../host/observe.ts'
import { withFormerGateways } from '../../verbs/gateways.ts'
import { blank, strangersOf } from '../unindexed.ts'
import type { NetworkView } from '../view.ts'
import { desiredOfOne, livingOf } from './desired.ts'
import type { Obstacle } from './plan.ts'

type Links = ReadonlyMap<string, SeenLink>

/** None where pods live: what is in their way is known by them. */
export async function obstaclesAhead(view: NetworkView, links: Links): Promise<readonly Obstacle[]> {
  if (livingOf(view).length > 0 || strangersOf(view, links).length > 0) return []
  const addresses = view.sets.flatMap(([range]) =>
    range?.gateway ? [formatCidr({ ip: range.gateway, prefix: range.subnet.prefix })] : [],
  )
  const name = view.network.name
  const pod = { ...blank(view), network: name, containerID: 'next', ifname: 'eth0', addresses }
  const desired = desiredOfOne(view, pod, { links, routes: [] }).filter(({ kind }) => kind === 'gateway')
  const seen = observed({ host: links })
  return (await withFormerGateways(view.network, desired)).flatMap((resource) => {
    const finding = kindOf(resource).inspect(resource, seen)
    if (finding.is !== 'different' || kindOf(resource).repair?.(resource, seen).length) return []
    return [{ resource, reason: `want ${finding.want}, have ${finding.have}` }]
  })
}
