/**
 * Two removals of the same dead may run at once: two ADDs that reclaim, or one beside a DEL. Then the first to end frees
 * the address, and a new pod may have it, with its rules made, before the second comes to delete what it has looked at
 * long ago. That one puts back what is the new pod's.
 *
 * The alternative, to hold the store's lock while rules are deleted, would let all DELs of a node wait for each other.
 */
import * as engine from '#engine'
import { type Attachment, keyOf } from '../core/attachment.ts'
import { isAlone } from '../core/kinds/host-route.ts'
import { additionOf, masqueradedBy } from '../core/kinds/masquerade.ts'
import { isOnBridge, type NodeRoute, restoreRoutes, type SeenRoute } from './host-routes.ts'
import { type IndexEntry, readEntry, readHolderOf } from './index-files.ts'
import { addElements, startNft } from './nft.ts'
import { readOwner } from './store.ts'
import type { Ground } from './sweep.ts'

/** What was deleted of one attachment that had lost it by then. */
export interface Strayed {
  readonly attachment: Attachment
  readonly elements: readonly string[]
  readonly routes: readonly NodeRoute[]
}

/** @param removed the node's routes that were removed, of these and of others */
export async function restore(
  strayed: readonly Strayed[],
  removed: readonly SeenRoute[],
  ground: Ground,
): Promise<void> {
  const end = engine.monotonic() + MAKER_WAIT
  const lines: string[] = []
  const routes: SeenRoute[] = []
  for (const { attachment, elements, ...rest } of strayed) {
    for (const element of elements) {
      const holder = await holderOf(masqueradedBy(element), attachment, ground, end)
      if (holder?.elements.includes(element)) lines.push(additionOf(element, holder))
    }
    for (const route of removed.filter(({ address }) =>
      rest.routes.some(({ cidr }) => cidr.startsWith(`${address}/`)),
    )) {
      const holder = await holderOf(route.address, attachment, ground, end)
      const isHolders = holder?.addresses.some((cidr) => isAlone(cidr) && cidr.startsWith(`${route.address}/`))
      if (isHolders && isOnBridge(route.device, holder?.bridge ?? '')) routes.push(route)
    }
  }
  if (lines.length > 0) await addElements(startNft(), lines, [])
  if (routes.length > 0) await restoreRoutes(routes)
}

/** Milliseconds to wait for an ADD to tell what it has made. */
const MAKER_WAIT = 5_000

/**
 * Who has an address by now; of what is no address's, the attachment itself: it has begun anew.
 * @param end when not to wait any longer for an ADD that is under way
 */
async function holderOf(
  address: string | undefined,
  { network, ...self }: Attachment,
  { storeFolder, indexFolder }: Ground,
  end: number,
): Promise<IndexEntry | undefined> {
  for (;;) {
    const owner = address === undefined ? self : readOwner(storeFolder, address)
    const found = owner
      ? readEntry(indexFolder, keyOf({ network, ...owner }))
      : readHolderOf(indexFolder, address as string)
    const entry = found === 'damaged' ? undefined : found
    if (!entry || entry.done || engine.monotonic() > end) return entry
    await engine.sleep(5)
  }
}
