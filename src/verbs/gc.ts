/**
 * GC: removes what belongs to no valid attachment of this network. Without a list only what is provably dead.
 * Everything that can be done is done; what could not is reported at the end.
 */
import * as engine from '#engine'
import type { Request } from '../cni/request.ts'
import { type Attachment, parseLabel } from '../core/attachment.ts'
import type { SeenLink } from '../core/resource.ts'
import { type IndexEntry, listEntries, listEntriesElsewhere } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { hasInetNat } from '../host/machine.ts'
import { readRules } from '../host/nft.ts'
import { NO_MASQUERADE } from '../host/observe.ts'
import { openSession } from '../host/session.ts'
import { EMPTY_GRACE, readLeases, reservedAt } from '../host/store.ts'
import { sweep, throwFailures, type Victim } from '../host/sweep.ts'
import { lookUpTool } from '../host/tools.ts'
import { hasOwnIpam, isEntryDead, isMakerAlive, type Network, networkOf } from './call.ts'
import type { Garbage } from './foreign-gc.ts'
import { addressesOf, elementsBut, elementsNamed, isOwnLink, masquerades, victimOf, withoutPrefix } from './victims.ts'

/** Is this attachment to be spared? */
type Spares = (attachment: Pick<Attachment, 'containerID' | 'ifname'>) => boolean

export async function gc({ netconf }: Request): Promise<void> {
  if (netconf.disableGC) return
  const network = networkOf(netconf)
  const { victims, also } = await findGarbage(network)
  const failures = await sweep(victims, network, { also }, orphanedFiles(network))
  const isOver = netconf.validAttachments?.length === 0 && failures.length === 0
  const more = isOver ? await (await import('./gc-network.ts')).clearNetwork(network) : []
  throwFailures([...failures, ...more], `GC of network "${netconf.name}"`)
}

/** Where there is a list: the addresses whose files have named nobody for so long that no writer is at it. */
function orphanedFiles({ netconf, storeFolder }: Network): readonly string[] {
  if (!netconf.validAttachments || !hasOwnIpam(netconf)) return []
  return readLeases(storeFolder).flatMap(({ address, owner }) => {
    const made = owner ? undefined : reservedAt(storeFolder, address)
    return made !== undefined && Math.abs(engine.now() - made) > EMPTY_GRACE ? [address] : []
  })
}

/** All that is to go, and the removals of what is in other forms than Pontoon's. Looks, and removes nothing. */
export async function findGarbage(
  network: Network,
): Promise<{ readonly victims: readonly Victim[]; readonly also: readonly (() => Promise<void>)[] }> {
  const { netconf } = network
  const entries = listEntries(network.indexFolder)
  const neighbours = entriesBeside(network)
  const spares = sparing(netconf.validAttachments, entries, neighbours)
  const [links, masquerade] = await Promise.all([
    readVeths(),
    lookUpTool('nft') === undefined ? NO_MASQUERADE : readRules(hasInetNat()),
  ])
  const kept = keptBy(network, entries, spares)
  const held = new Set([...kept].map((item) => item.split(' ')[1]))
  const isFree = (element: string) => !masquerades(element, (address) => held.has(address))
  const victims = collect(network, entries, spares, links).map((traced) =>
    victimOf(
      { ...traced, entry: undefined, isUncertain: false },
      traced.links,
      elementsNamed(masquerade, traced.attachment, traced.addresses).filter(isFree),
    ),
  )
  const named = sparedBy(network, entries, neighbours)
  const also: (() => Promise<void>)[] = []
  const foreign = await ofReference({ netconf, victims, spared: named, kept }, also)
  const others = named
    ? orphans(network, masquerade, victims, named).map((one) => ({ ...one, elements: one.elements.filter(isFree) }))
    : []
  return { victims: [...victims, ...others, ...foreign], also }
}

/** What has the reference's form. Host ends that can't be looked for are a failure of their own. */
async function ofReference(garbage: Garbage, also: (() => Promise<void>)[]): Promise<readonly Victim[]> {
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

/** The addresses of those that stay: `containerID address`. */
function keptBy({ storeFolder }: Network, entries: readonly IndexEntry[], spares: Spares): ReadonlySet<string> {
  const leases = readLeases(storeFolder).flatMap(({ address, owner }) => (owner ? [{ ...owner, address }] : []))
  const indexed = entries.flatMap((entry) =>
    entry.addresses.map((cidr) => ({ ...entry, address: withoutPrefix(cidr) })),
  )
  const kept = [...leases, ...indexed].filter(spares)
  return new Set(kept.map(({ containerID, address }) => `${containerID} ${address}`))
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

interface Found {
  readonly attachment: Attachment
  readonly addresses: readonly string[]
  readonly links: readonly string[]
}

/** Every attachment that index, store or a link's label names and that is not spared, once. */
function collect(
  { netconf, storeFolder }: Network,
  entries: readonly IndexEntry[],
  spares: Spares,
  links: ReadonlyMap<string, SeenLink>,
): readonly Found[] {
  const found = new Map<string, { attachment: Attachment; addresses: Set<string>; links: string[] }>()
  const at = ({ containerID, ifname }: Pick<Attachment, 'containerID' | 'ifname'>) => {
    const key = `${containerID}\n${ifname}`
    const attachment = { network: netconf.name, containerID, ifname }
    const item = found.get(key) ?? { attachment, addresses: new Set<string>(), links: [] as string[] }
    found.set(key, item)
    return item
  }
  for (const entry of entries) {
    if (spares(entry)) continue
    for (const address of addressesOf(entry, storeFolder)) at(entry).addresses.add(address)
    at(entry)
  }
  for (const { address, owner } of readLeases(storeFolder)) {
    if (owner && !spares(owner)) at(owner).addresses.add(address)
  }
  for (const link of links.values()) {
    const labelled = parseLabel(link.alias)
    if (labelled?.network !== netconf.name || spares(labelled) || !isOwnLink(link, labelled)) continue
    at(labelled).links.push(link.name)
  }
  return [...found.values()].map((item) => ({ ...item, addresses: [...item.addresses] }))
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

async function readVeths(): Promise<ReadonlyMap<string, SeenLink>> {
  const session = openSession()
  const documents = await session.run(['addr show type veth'])
  await session.close()
  return readLinks(documents)
}
