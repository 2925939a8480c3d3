/** What living pods lack on their own side: interface, addresses, routes. Looks only: it is theirs. */
import { contains, parseCidr } from '../../core/ip.ts'
import { kindOf, nameOf } from '../../core/kinds.ts'
import { line } from '../../core/line.ts'
import type { Observed, SeenLink } from '../../core/resource.ts'
import type { IndexEntry } from '../../host/index-files.ts'
import { readLinks, readRoutes } from '../../host/ip-json.ts'
import { observed } from '../../host/observe.ts'
import { openSession } from '../../host/session.ts'
import { completeRoutes } from '../../verbs/add.ts'
import { isDelegated } from '../../verbs/call.ts'
import { linesOf } from '../ops.ts'
import { tellProgress } from '../progress.ts'
import type { NetworkView } from '../view.ts'
import { assignedTo, desiredOfOne, livingOf } from './desired.ts'

/** What one pod lacks. */
export interface InsideDrift {
  readonly entry: IndexEntry
  /** `address 10.9.0.2/24 on eth0: missing`, each. */
  readonly what: readonly string[]
  /** `want mtu 1400, have mtu 1500`: as after a change of the configuration, which is for pods from then on. */
  readonly mtu: string | undefined
  /** The lines that make it right, in their order. */
  readonly lines: readonly string[]
}

export interface Inside {
  readonly inside: readonly InsideDrift[]
  /** Pods by their hardware address. */
  readonly byMac: ReadonlyMap<string, readonly IndexEntry[]>
}

export async function lookInside(view: NetworkView, links: ReadonlyMap<string, SeenLink>): Promise<Inside> {
  const inside: InsideDrift[] = []
  const byMac = new Map<string, IndexEntry[]>()
  const reachable = livingOf(view).filter(({ netns }) => netns !== '')
  for (const [i, entry] of reachable.entries()) {
    tellProgress(`looking into ${view.network.name}: pod ${i + 1} of ${reachable.length}`)
    const seen = await lookInto(entry)
    if (!seen) continue
    inside.push(...driftOf(view, entry, links, seen))
    const mac = seen.sandbox.get(entry.ifname)?.mac ?? ''
    if (mac !== '') byMac.set(mac, [...(byMac.get(mac) ?? []), entry])
  }
  return { inside, byMac }
}

function driftOf(
  view: NetworkView,
  entry: IndexEntry,
  links: ReadonlyMap<string, SeenLink>,
  seen: Observed,
): readonly InsideDrift[] {
  const { netconf, plugins } = view.network
  // Plugins behind it may have taken routes elsewhere: that is their whole purpose. Another IPAM plugin told its own to ADD alone.
  const isLast = plugins.at(-1) === netconf.type
  const routes =
    isLast && !isDelegated(netconf) && hasRanges(view, entry)
      ? completeRoutes(netconf, netconf.ipam?.routes ?? [], assignedTo(view, entry))
      : []
  const desired = desiredOfOne(view, entry, { links, routes })
  let mtu: string | undefined
  const found = desired.flatMap((resource) => {
    if (!['link', 'address', 'route'].includes(resource.kind)) return []
    const kind = kindOf(resource)
    const finding = kind.inspect(resource, seen)
    if (finding.is === 'present') return []
    const reason = finding.is === 'absent' ? 'missing' : `want ${finding.want}, have ${finding.have}`
    if (reason.startsWith('want mtu ')) {
      mtu = reason
      return []
    }
    // Made to be down, and for the pod itself to set up.
    if (resource.kind === 'link' && resource.staysDown) return []
    const lines = linesOf(kind.create(resource), entry.netns).map((text) =>
      text.replace(' route append ', ' route replace '),
    )
    return [{ what: `${nameOf(resource)}: ${reason}`, lines }]
  })
  if (found.length === 0 && mtu === undefined) return []
  return [{ entry, mtu, what: found.map(({ what }) => what), lines: found.flatMap(({ lines }) => lines) }]
}

/** Whose subnet is not configured any more has the gateway that was configured then. */
function hasRanges({ sets }: NetworkView, { addresses }: IndexEntry): boolean {
  return addresses.every((text) => {
    const cidr = parseCidr(text)
    return cidr !== undefined && sets.flat().some(({ subnet }) => contains(subnet, cidr.ip))
  })
}

/** undefined when it has ended meanwhile. */
async function lookInto({ netns, ifname }: IndexEntry): Promise<Observed | undefined> {
  const session = openSession(netns)
  try {
    const links = readLinks(await session.run([line`addr show dev ${ifname}`]))
    const routes = readRoutes(await session.run(['route show table all']), ifname)
    return links.has(ifname) ? observed({ sandbox: links, routes }) : undefined
  } catch {
    return undefined
  } finally {
    await session.close()
  }
}
