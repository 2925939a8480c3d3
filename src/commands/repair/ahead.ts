/** What would be in the way of a network's first ADD on a bridge that is there. */

import type { SeenLink } from '../../core/resource.ts'
import { obstructedGateways } from '../../verbs/obstructed.ts'
import { strangersOf } from '../unindexed.ts'
import type { NetworkView } from '../view.ts'
import { livingOf } from './desired.ts'
import type { Obstacle } from './plan.ts'

/** None where pods live: what is in their way is known by them. */
export async function obstaclesAhead(
  view: NetworkView,
  links: ReadonlyMap<string, SeenLink>,
): Promise<readonly Obstacle[]> {
  if (livingOf(view).length > 0 || strangersOf(view, links).length > 0) return []
  return obstructedGateways(view.network, view.sets, links)
}
