/** Which attachments of a network GC is to remove, and what index, store and labels tell of each. */
import { type Attachment, keyOf, parseLabel } from '../core/attachment.ts'
import type { SeenLink } from '../core/resource.ts'
import { type IndexEntry, makerOf, readEntry } from '../host/index-files.ts'
import type { Lease } from '../host/store.ts'
import type { Network } from './call.ts'
import { addressesOf, isOwnLink } from './victims.ts'

/** Is this attachment to be spared? */
export type Spares = (attachment: Pick<Attachment, 'containerID' | 'ifname'>) => boolean

export interface Found {
  readonly entry: IndexEntry | undefined
  /** As `makerOf` says: an ADD that begins from now on keeps what it claims. */
  readonly maker: string
  readonly attachment: Attachment
  readonly addresses: readonly string[]
  readonly links: readonly string[]
}

export interface Seen {
  readonly entries: readonly IndexEntry[]
  readonly leases: readonly Lease[]
  readonly links: ReadonlyMap<string, SeenLink>
}

/** Every attachment that index, store or a link's label names and that is not spared, once. */
export function collect(
  { netconf, storeFolder, indexFolder }: Network,
  { entries, leases, links }: Seen,
  spares: Spares,
): readonly Found[] {
  interface Item extends Pick<Found, 'attachment'> {
    entry?: IndexEntry
    readonly addresses: Set<string>
    readonly links: string[]
  }
  const found = new Map<string, Item>()
  const at = ({ containerID, ifname }: Pick<Attachment, 'containerID' | 'ifname'>) => {
    const key = `${containerID}\n${ifname}`
    const attachment = { network: netconf.name, containerID, ifname }
    const item: Item = found.get(key) ?? { attachment, addresses: new Set(), links: [] }
    found.set(key, item)
    return item
  }
  for (const entry of entries) {
    if (spares(entry)) continue
    const item = at(entry)
    item.entry = entry
    for (const address of addressesOf(entry, storeFolder)) item.addresses.add(address)
  }
  for (const { address, owner } of leases) {
    if (owner && !spares(owner)) at(owner).addresses.add(address)
  }
  for (const link of links.values()) {
    const labelled = parseLabel(link.alias)
    if (labelled?.network !== netconf.name || spares(labelled) || !isOwnLink(link, labelled)) continue
    at(labelled).links.push(link.name)
  }
  return [...found.values()].map(({ entry, ...item }) => ({
    ...item,
    entry,
    maker: entry ? makerOf(entry) : makerOfUnlisted(indexFolder, item.attachment),
    addresses: [...item.addresses],
  }))
}

/** Of an attachment that had no readable entry when the entries were listed; one that it has now is a later ADD's. */
function makerOfUnlisted(indexFolder: string, attachment: Attachment): string {
  return readEntry(indexFolder, keyOf(attachment)) === 'damaged' ? makerOf('damaged') : makerOf(undefined)
}
