/**
 * Living pods that the reference plugin made: the index has nothing of them, and the names of their host ends are
 * drawn. The store knows container and address; a pod counts as living when a namespace has that address on that
 * interface, whose other end is a port of the network's bridge that Pontoon did not make.
 */
import type { Attachment } from '../../core/attachment.ts'
import { formatIp } from '../../core/ip.ts'
import { arePaired, holdsOneOf, isUnlabelledVeth } from '../../core/pairing.ts'
import type { Observed, Resource, SeenLink } from '../../core/resource.ts'
import { chooseBackend } from '../../host/backend.ts'
import { bootId, type IndexEntry } from '../../host/index-files.ts'
import { readLinks } from '../../host/ip-json.ts'
import { listNamespaces } from '../../host/namespaces.ts'
import { openSession } from '../../host/session.ts'
import { dataDirOf } from '../../verbs/call.ts'
import { withoutPrefix } from '../../verbs/victims.ts'
import type { NetworkView } from '../view.ts'

export interface ReferencePods {
  /** As the index would have them. */
  readonly entries: readonly IndexEntry[]
  /** Those that live, but whose host end can't be told for the network's, one message each. */
  readonly left: readonly string[]
}

type Links = ReadonlyMap<string, SeenLink>
type Suspect = Pick<Attachment, 'containerID' | 'ifname'> & { readonly addresses: readonly string[] }

export async function findReferencePods(view: NetworkView, links: Links): Promise<ReferencePods> {
  const suspects = suspectsOf(view)
  const entries: IndexEntry[] = []
  const left: string[] = []
  for (const netns of suspects.length > 0 ? listNamespaces() : []) {
    for (const inside of await readVeths(netns)) {
      const suspect = suspects.find((one) => isInterfaceOf(inside, one))
      const outside = suspect && [...links.values()].find((link) => isUnlabelledVeth(link) && arePaired(link, inside))
      if (!suspect || !outside) continue
      if (isPortOf(view, outside, links)) entries.push(entryOf(view, suspect, { netns, inside, outside }))
      else left.push(strangerText(suspect, inside, outside))
    }
  }
  return { entries, left }
}

/** Reservations of which the index has nothing, by attachment. */
function suspectsOf({ rows }: NetworkView): readonly Suspect[] {
  const found = new Map<string, Suspect>()
  for (const { state, containerID, ifname, address } of rows) {
    if (state !== 'unknown' || containerID === '') continue
    const key = `${containerID} ${ifname}`
    found.set(key, { containerID, ifname, addresses: [...(found.get(key)?.addresses ?? []), address] })
  }
  return [...found.values()]
}

/** A reservation of the oldest format names no interface: then the address alone has to do. */
function isInterfaceOf(inside: SeenLink, { ifname, addresses }: Suspect): boolean {
  return (ifname === '' || inside.name === ifname) && holdsOneOf(inside, addresses) === true
}

/** Where the bridge is gone, its ports are on none. */
function isPortOf({ network: { netconf } }: NetworkView, { master }: SeenLink, links: Links): boolean {
  return links.has(netconf.bridge) ? master === netconf.bridge : master === undefined
}

interface Place {
  readonly netns: string
  readonly inside: SeenLink
  readonly outside: SeenLink
}

function entryOf(
  { network: { netconf } }: NetworkView,
  suspect: Suspect,
  { netns, inside, outside }: Place,
): IndexEntry {
  const cidrs = inside.addresses.map(({ cidr }) => cidr)
  return {
    version: 1,
    network: netconf.name,
    containerID: suspect.containerID,
    ifname: inside.name,
    dataDir: dataDirOf(netconf),
    done: true,
    pid: 0,
    addresses: cidrs.filter((cidr) => suspect.addresses.includes(withoutPrefix(cidr))),
    netns,
    device: 0,
    inode: 0,
    hostVeth: outside.name,
    bridge: netconf.bridge,
    masquerade: netconf.ipMasq ? chooseBackend(netconf.ipMasqBackend) : 'none',
    elements: [],
    boot: bootId(),
    time: 0,
  }
}

function strangerText({ containerID, addresses }: Suspect, inside: SeenLink, { name, master }: SeenLink): string {
  const place = master === undefined ? 'on no bridge' : `on ${master}`
  return `interface ${inside.name} of container ${containerID} (${addresses.join(', ')}): its host end ${name} is ${place}, and nothing proves it to be of this network`
}

/** None of a namespace that has gone meanwhile, or can't be entered. */
async function readVeths(netns: string): Promise<readonly SeenLink[]> {
  const session = openSession(netns)
  try {
    return [...readLinks(await session.run(['addr show type veth'])).values()]
  } catch {
    return []
  } finally {
    await session.close()
  }
}

type TheirRules = Pick<Observed, 'masqueraded' | 'guarded'>

/** What the reference's own rules do for these pods. */
export async function readTheirRules(entries: readonly IndexEntry[]): Promise<TheirRules> {
  if (entries.length === 0) return { masqueraded: new Set(), guarded: new Set() }
  const { lookAtReference } = await import('../../verbs/reference-check.ts')
  const seen = await Promise.all(entries.map((attachment) => lookAtReference({ attachment })))
  return {
    masqueraded: new Set(seen.flatMap(({ masqueraded }) => [...masqueraded])),
    guarded: new Set(seen.flatMap(({ guarded }) => [...guarded])),
  }
}

/** Whatever backend it is by: a pod need not be masqueraded a second time. */
export function isDoneByThem(resource: Resource, { masqueraded }: TheirRules): boolean {
  if (resource.kind === 'masquerade') return masqueraded.has(formatIp(resource.address))
  return resource.kind === 'iptables' && resource.pods.every(({ ip }) => masqueraded.has(formatIp(ip)))
}
