/** What the host has of it all: its links, rules and sysctls, for all networks at once. */
import type { Observed, Resource, SeenLink } from '../../core/resource.ts'
import { readHostRoutes } from '../../host/host-routes.ts'
import { readLinks, readVlans } from '../../host/ip-json.ts'
import { readNat } from '../../host/iptables.ts'
import { hasInetNat } from '../../host/machine.ts'
import { readFilter, readMasquerade } from '../../host/nft.ts'
import { NO_MASQUERADE, observed, readSysctls } from '../../host/observe.ts'
import { openSession } from '../../host/session.ts'
import { lookUpTool } from '../../host/tools.ts'

export async function readAllLinks(): Promise<ReadonlyMap<string, SeenLink>> {
  const session = openSession()
  try {
    return readLinks(await session.run(['addr show']))
  } finally {
    await session.close()
  }
}

/** What there is of these resources. */
export async function lookAt(desired: readonly Resource[], links: ReadonlyMap<string, SeenLink>): Promise<Observed> {
  const has = (...kinds: readonly Resource['kind'][]) => desired.some(({ kind }) => kinds.includes(kind))
  const withNft = lookUpTool('nft') !== undefined
  const [masquerade, filter, nat4, nat6, vlans, hostRoutes] = await Promise.all([
    withNft && has('masquerade') ? readMasquerade(hasInetNat()) : NO_MASQUERADE,
    withNft && has('untracked', 'spoofcheck') ? readFilter() : NO_MASQUERADE,
    has('iptables') ? readNat(4) : undefined,
    has('iptables') ? readNat(6) : undefined,
    has('vlan') ? readAllVlans() : new Map(),
    has('hostRoute') ? readHostRoutes() : new Set<string>(),
  ])
  return observed({
    host: links,
    sysctls: readSysctls(desired),
    masquerade,
    filter,
    vlans,
    hostRoutes,
    nat: new Map([
      [4, nat4?.rules ?? []],
      [6, nat6?.rules ?? []],
    ]),
  })
}

export async function readAllVlans() {
  const session = openSession(undefined, 'bridge')
  try {
    return readVlans(await session.run(['vlan show']))
  } finally {
    await session.close()
  }
}
