/** What CHECK looks at for networks with VLANs, or with rules of Pontoon's own: the others need not wait for it. */
import type { Observed, Resource } from '../core/resource.ts'
import { readHostRoutes } from '../host/host-routes.ts'
import { readFilter } from '../host/nft.ts'
import { NO_MASQUERADE } from '../host/observe.ts'
import { openSession } from '../host/session.ts'
import type { Call } from './call.ts'
import { findVlanGateway, readVlansOf, type VlanGateway } from './vlans.ts'

/** The gateway in the network's VLAN as it is, or as it should be. */
export async function lookForVlanGateway({ netconf }: Call): Promise<VlanGateway | undefined> {
  if (netconf.vlan === 0) return undefined
  const session = openSession()
  const gateway = await findVlanGateway(netconf, session)
  await session.close()
  return gateway
}

export async function lookAtOwn(
  desired: readonly Resource[],
): Promise<Pick<Observed, 'filter' | 'vlans' | 'hostRoutes'>> {
  const hasRules = desired.some(isOwnRule)
  const [filter, vlans, hostRoutes] = await Promise.all([
    hasRules ? readFilter() : NO_MASQUERADE,
    lookAtVlans(desired),
    desired.some(({ kind }) => kind === 'hostRoute') ? readHostRoutes() : new Set<string>(),
  ])
  return { filter, vlans, hostRoutes }
}

/** Rules in Pontoon's own tables: what the reference made has them elsewhere. */
function isOwnRule({ kind }: Resource): boolean {
  return kind === 'spoofcheck' || kind === 'untracked'
}

/** What the reference makes nothing like. */
export function isOwnAlone(resource: Resource): boolean {
  return isOwnRule(resource) || resource.kind === 'hostRoute'
}

async function lookAtVlans(desired: readonly Resource[]): Promise<Observed['vlans']> {
  const ports = desired.flatMap((resource) => (resource.kind === 'vlan' ? [resource.port] : []))
  if (ports.length === 0) return new Map()
  const session = openSession(undefined, 'bridge')
  const seen = await readVlansOf(session, ports)
  await session.close()
  return seen
}
