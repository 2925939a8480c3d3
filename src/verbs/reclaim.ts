/** Frees the reservations of the dead, when addresses run out and on the first ADD after a boot. */
import * as engine from '#engine'
import { keyOf } from '../core/attachment.ts'
import { listEntries, removeEntry } from '../host/index-files.ts'
import { type LockedStore, release } from '../host/store.ts'
import { isEntryDead, type Network } from './call.ts'

/** @returns true when an address became free */
export function reclaim(network: Network, store: LockedStore): boolean {
  let freed = 0
  for (const entry of listEntries(network.indexFolder)) {
    if (!isEntryDead(entry)) continue
    for (const cidr of entry.addresses) {
      const address = cidr.split('/')[0] ?? ''
      if (!release(store, address, entry)) continue
      freed++
      engine.writeStderr(`pontoon: reclaimed ${address} of container ${entry.containerID}, which is gone\n`)
    }
    removeEntry(network.indexFolder, keyOf(entry))
  }
  return freed > 0
}
