/** Finds out what belongs to an attachment: by the index, else by store, labels and rules. */
import type { NetConf } from '../cni/netconf.ts'
import {
  type Attachment,
  hostVethOf,
  isCommentOf,
  keyOf,
  labelOf,
  networkInComment,
  readableIn,
  readableOf,
} from '../core/attachment.ts'
import { withoutPrefix } from '../core/ip.ts'
import { isAlone } from '../core/kinds/host-route.ts'
import { masqueradedBy, setPrefix, TABLE } from '../core/kinds/masquerade.ts'
import type { SeenLink, SeenMasquerade } from '../core/resource.ts'
import type { NodeRoute } from '../host/host-routes.ts'
import { type IndexEntry, makerOf, readEntry } from '../host/index-files.ts'
import { isEmpty, isOwner, type Lease, readLeases, readOwner } from '../host/store.ts'
import type { Victim } from '../host/sweep.ts'
import type { Network } from './call.ts'

/** What the index and the store tell, without asking the kernel. */
export interface Traced {
  readonly attachment: Attachment
  readonly entry: IndexEntry | undefined
  readonly addresses: readonly string[]
  /** True when rules may exist that the index does not tell: they have to be looked for. */
  readonly isUncertain: boolean
  /** The ADD that the entry is of, as `makerOf` says. */
  readonly maker?: string
}

export function trace(network: Network, attachment: Attachment): Traced {
  const found = readEntry(network.indexFolder, keyOf(attachment))
  const entry = found === 'damaged' ? undefined : found
  // An ADD that was killed did not come to note what it had made.
  if (entry?.done) {
    const addresses = entry.addresses.map(withoutPrefix)
    return { attachment, entry, addresses, isUncertain: false, maker: makerOf(found) }
  }
  const leased = leasesOf(network, attachment).map(({ address }) => address)
  const addresses = [...leased, ...(entry ? emptied(entry, network.storeFolder) : [])]
  const isUncertain = addresses.length > 0 || found !== undefined
  return { attachment, entry, addresses, isUncertain, maker: makerOf(found) }
}

/** The addresses whose files an ADD had made, but not written, when it was killed. */
export function emptied({ done, addresses }: IndexEntry, storeFolder: string): readonly string[] {
  return done ? [] : addresses.map(withoutPrefix).filter((address) => isEmpty(storeFolder, address))
}

/** What an entry says that the attachment has. An ADD that was killed may not have come to what it says. */
export function addressesOf(entry: IndexEntry, storeFolder: string): readonly string[] {
  const all = entry.addresses.map(withoutPrefix)
  if (entry.done) return all
  return all.filter((address) => isEmpty(storeFolder, address) || isOwner(readOwner(storeFolder, address), entry))
}

function leasesOf({ storeFolder }: Network, { containerID, ifname }: Attachment): readonly Lease[] {
  return readLeases(storeFolder).filter(({ owner }) => isOwner(owner, { containerID, ifname }))
}

export { withoutPrefix }

/**
 * The elements that bear this attachment's name, or in a set of its network an address that is reserved for it: the
 * name on that may be a former owner's.
 */
export function elementsNamed(
  seen: SeenMasquerade,
  attachment: Attachment,
  addresses: readonly string[] = [],
): readonly string[] {
  return elementFinder(seen, attachment.network)(attachment, addresses)
}

/** The same for many attachments of a network: all elements are looked at once. */
export function elementFinder(
  { elements }: SeenMasquerade,
  network: string,
): (attachment: Attachment, addresses: readonly string[]) => readonly string[] {
  const byWords = new Map<string, string[]>()
  const byAddress = new Map<string, string[]>()
  for (const [element, comment] of elements) {
    const [, table, set = '', address = ''] = element.split(' ')
    addTo(byWords, readableIn(comment), element)
    if (table === TABLE && isSetOf(set, network)) addTo(byAddress, address, element)
  }
  return (attachment, addresses) => {
    const named = byWords.get(readableOf(attachment)) ?? []
    return [
      ...new Set([
        ...named.filter((element) => isCommentOf(elements.get(element) ?? '', attachment)),
        ...addresses.flatMap((address) => byAddress.get(address) ?? []),
      ]),
    ]
  }
}

function addTo<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
}

/** Up to the last dash: a subnet has none, but the name of another network may begin with this one's and a dash. */
export function isSetOf(set: string, network: string): boolean {
  return set.slice(0, set.lastIndexOf('-') + 1) === setPrefix(network)
}

/** Does an element masquerade one of these addresses? Its comment may be a former owner's; the address tells. */
export function masquerades(element: string, isHeld: (address: string) => boolean): boolean {
  const address = masqueradedBy(element)
  return address !== undefined && isHeld(address)
}

/** The node's routes to addresses that are a subnet of their own. */
export function routesOf({ addresses, bridge }: Pick<IndexEntry, 'addresses' | 'bridge'>): readonly NodeRoute[] {
  return addresses.filter(isAlone).map((cidr) => ({ cidr, bridge }))
}

/** The same of what was traced. Where the index does not tell, each of the addresses may have one. */
export function routesTo(
  { entry, addresses }: Pick<Traced, 'entry' | 'addresses'>,
  { isGateway, bridge }: NetConf,
): readonly NodeRoute[] {
  if (entry?.done) return routesOf(entry)
  if (!isGateway) return []
  const cidrs = addresses.map((address) => `${address}/${address.includes(':') ? 128 : 32}`)
  return routesOf({ addresses: cidrs, bridge: entry?.bridge ?? bridge })
}

/** The elements of a network that belong to none of these attachments. */
export function elementsBut(seen: SeenMasquerade, network: string, spared: readonly Attachment[]): readonly string[] {
  const own = [...seen.elements].filter(
    ([element, comment]) => isSetOf(element.split(' ')[2] ?? '', network) || networkInComment(comment) === network,
  )
  if (own.length === 0) return []
  const named = new Map<string, Attachment[]>()
  for (const attachment of spared) addTo(named, readableOf(attachment), attachment)
  const isSpared = (comment: string) =>
    named.get(readableIn(comment))?.some((attachment) => isCommentOf(comment, attachment)) ?? false
  return own.flatMap(([element, comment]) => (isSpared(comment) ? [] : [element]))
}

/**
 * Is this host link provably the attachment's own? Its name is derived from the three words, it is a veth, and if it
 * bears a label, the label says so too. (A label is missing when an ADD was killed between two lines.)
 */
export function isOwnLink(link: SeenLink | undefined, attachment: Attachment): boolean {
  if (link?.type !== 'veth' || link.name !== hostVethOf(keyOf(attachment))) return false
  return link.alias === undefined || isLabelOf(link.alias, attachment)
}

/** Does a label name this attachment? Its pod, behind that, is of no matter. */
export function isLabelOf(alias: string, { network, containerID, ifname }: Attachment): boolean {
  const label = labelOf({ network, containerID, ifname })
  return alias === label || alias.startsWith(`${label}/`)
}

export function victimOf(traced: Traced, links: readonly string[], elements: readonly string[]): Victim {
  const { attachment, addresses, maker } = traced
  const { containerID, ifname } = attachment
  const victim = { attachment, owner: { containerID, ifname }, addresses, links, elements }
  return maker === undefined ? victim : { ...victim, maker }
}
