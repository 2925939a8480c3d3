import type { Request } from '../cni/request.ts'
import type { Attachment } from '../core/attachment.ts'
import { TABLE } from '../core/kinds/masquerade.ts'
import type { SeenLink } from '../core/resource.ts'
import { listIfThere } from '../host/files.ts'
import { lessHeld } from '../host/held.ts'
import { type IndexEntry, listEntries, listEntriesElsewhere } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { mayHaveNat } from '../host/iptables.ts'
import { hasInetNat } from '../host/machine.ts'
import { openTables, readRules } from '../host/nft-tables.ts'
import { NO_MASQUERADE } from '../host/observe.ts'
import { openSession } from '../host/session.ts'
import { type Lease, readLeases } from '../host/store.ts'
import type { Victim } from '../host/sweep.ts'
import { isEntryDead, isMakerAlive, type Network } from './call.ts'
import { collect, type Spares } from './collect.ts'
import type { Ground } from './foreign-gc.ts'
import { elementFinder, elementsBut, routesOf, victimOf, withoutPrefix } from './victims.ts'

const FAMILIES = [4, 6] as const

export interface Garbage {
  readonly victims: readonly Victim[]
  /** The removals of what is in other forms than Pontoon's. */
  readonly also: readonly (() => Promise<void>)[]
  /** Addresses whose files name no owner. */
  readonly nobodys: readonly string[]
  /** Why the packet filter could not be looked at. It is among the failures of a sweep. */
  readonly problem: unknown
}

/**
 * All that is to go. Looks, and removes nothing. What the kernel and the store have is looked at first, the index
 * last: an ADD that begins meanwhile is noted there before anything of it can be seen.
 */
export async function findGarbage(network: Network): Promise<Garbage> {
  const { netconf } = network
  const [{ tables, masquerade, failure }, { names, leases }] = await Promise.all([lookAtRules(), lookAround(network)])
  const entries = listEntries(network.indexFolder)
  const neighbours = entriesBeside(network)
  const spares = sparing(netconf.validAttachments, entries, neighbours)
  const links = await readHostEnds(names, entries.filter(spares))
  const kept = keptBy(leases, entries, spares)
  const isKept = (address: string) => kept.addresses.has(address)
  const elementsOf = elementFinder(masquerade, netconf.name)
  const victims = collect(network, { entries, leases, links }, spares).map((found): Victim => {
    const { entry, attachment, addresses } = found
    const elements = failure && entry?.done ? entry.elements : elementsOf(attachment, addresses)
    const victim = victimOf({ ...found, isUncertain: false }, found.links, elements)
    const isPartial = failure !== undefined && !entry?.done
    return lessHeld({ ...victim, routes: entry ? routesOf(entry) : [], isPartial }, isKept)
  })
  const named = sparedBy(network, entries, neighbours)
  const also = failure ? [() => Promise.reject(failure.cause)] : []
  const foreign = await ofReference({ netconf, victims, spared: named, kept: kept.held, tables }, also)
  const others = named ? orphans(network, masquerade, victims, named).map((one) => lessHeld(one, isKept)) : []
  const nobodys = leases.flatMap(({ address, owner }) => (owner ? [] : [address]))
  return { victims: [...victims, ...others, ...foreign], also, nobodys, problem: failure?.cause }
}

/** What the packet filter has. When it can't be looked at, that is a failure of its own, and all else is done. */
async function lookAtRules() {
  try {
    const tables = await openTables()
    return { tables, masquerade: tables ? await readRules(hasInetNat(), tables) : NO_MASQUERADE, failure: undefined }
  } catch (cause) {
    return { tables: undefined, masquerade: NO_MASQUERADE, failure: { cause } }
  }
}

/** While nft starts. */
async function lookAround({ storeFolder }: Network) {
  return { names: listHostEnds(), leases: readLeases(storeFolder) }
}

/** What has the reference's form. Host ends that can't be looked for are a failure of their own. */
async function ofReference(garbage: Ground, also: (() => Promise<void>)[]): Promise<readonly Victim[]> {
  if (!mayHaveForeign(garbage)) return []
  const { findLinks, removalsOf } = await import('./foreign-gc.ts')
  also.push(...removalsOf(garbage))
  try {
    const links = await findLinks(garbage)
    return links.length > 0 ? [{ ...nobody(garbage.netconf.name), links }] : []
  } catch (error) {
    also.push(() => Promise.reject(error))
    return []
  }
}

/** Can there be anything of the reference's? Most nodes have none, and need not load what knows it. */
function mayHaveForeign({ victims, tables }: Ground): boolean {
  const hasRules = !tables || tables.has('inet', TABLE) || tables.has('bridge', 'nat')
  return hasRules || victims.some(({ links }) => links.length === 0) || FAMILIES.some((one) => mayHaveNat(one, tables))
}

/** Attachments of a network of the same name that keeps its addresses in another folder: another runtime's. */
function entriesBeside({ netconf, indexFolder }: Network): readonly IndexEntry[] {
  return listEntriesElsewhere(indexFolder).filter((entry) => entry.network === netconf.name)
}

/** With a list: those in it, and those whose ADD is under way; undefined without. */
function sparedBy(
  { netconf }: Network,
  entries: readonly IndexEntry[],
  neighbours: readonly IndexEntry[],
): readonly Attachment[] | undefined {
  if (!netconf.validAttachments) return undefined
  return [...netconf.validAttachments, ...entries.filter(isMakerAlive), ...neighbours].map(
    ({ containerID, ifname }) => ({
      network: netconf.name,
      containerID,
      ifname,
    }),
  )
}

/** Who holds which addresses, of those that stay: as `containerID address`, and the addresses alone. */
function keptBy(leases: readonly Lease[], entries: readonly IndexEntry[], spares: Spares) {
  const held = new Set<string>()
  const addresses = new Set<string>()
  const keep = (containerID: string, address: string) => {
    held.add(`${containerID} ${address}`)
    addresses.add(address)
  }
  for (const { address, owner } of leases) if (owner && spares(owner)) keep(owner.containerID, address)
  for (const entry of entries.filter(spares)) {
    for (const cidr of entry.addresses) keep(entry.containerID, withoutPrefix(cidr))
  }
  return { held, addresses }
}

/** With a list: those in it, and those whose ADD is under way. Without: all but the dead. */
function sparing(
  valid: Request['netconf']['validAttachments'],
  entries: readonly IndexEntry[],
  neighbours: readonly IndexEntry[],
): Spares {
  const key = ({ containerID, ifname }: Pick<Attachment, 'containerID' | 'ifname'>) => `${containerID}\n${ifname}`
  if (!valid) {
    const dead = new Set(entries.filter(isEntryDead).map(key))
    return (attachment) => !dead.has(key(attachment))
  }
  const spared = new Set([...valid, ...entries.filter(isMakerAlive), ...neighbours].map(key))
  const ids = new Set(valid.map(({ containerID }) => containerID))
  // A file of the oldest format names the container alone.
  return (attachment) => spared.has(key(attachment)) || (attachment.ifname === '' && ids.has(attachment.containerID))
}

/** Rules of this network whose attachment nothing else knows any more. They are only garbage where there is a list. */
function orphans(
  { netconf }: Network,
  masquerade: typeof NO_MASQUERADE,
  victims: readonly Victim[],
  named: readonly Attachment[],
): readonly Victim[] {
  const known = new Set(victims.flatMap(({ elements }) => elements))
  const elements = elementsBut(masquerade, netconf.name, named).filter((element) => !known.has(element))
  if (elements.length === 0) return []
  return [{ ...nobody(netconf.name), elements }]
}

function nobody(network: string): Victim {
  const attachment = { network, containerID: '', ifname: '' }
  return { attachment, owner: attachment, addresses: [], links: [], elements: [] }
}

/** The names of links that may be host ends of Pontoon's. */
function listHostEnds(): readonly string[] {
  return listIfThere('/proc/sys/net/ipv4/conf').filter((name) => /^veth[0-9a-f]{11}$/.test(name))
}

/** The host ends of these names; those that the index has for who stays need not be asked about. */
async function readHostEnds(
  names: readonly string[],
  staying: readonly IndexEntry[],
): Promise<ReadonlyMap<string, SeenLink>> {
  const known = new Set(staying.map(({ hostVeth }) => hostVeth))
  const asked = new Set(names.filter((name) => !known.has(name)))
  if (asked.size === 0) return new Map()
  const session = openSession()
  const documents = await session.run(['addr show type veth'])
  await session.close()
  return new Map([...readLinks(documents)].filter(([name]) => asked.has(name)))
}
