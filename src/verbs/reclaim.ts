/**
 * Frees what the dead hold; `or-reclaim.ts` says when. Without it a node whose power failed, or whose runtime crashed,
 * would run out of addresses: nobody sends DEL for those pods.
 */
import * as engine from '#engine'
import { type IndexEntry, listEntries, makerOf } from '../host/index-files.ts'
import { isOwner, readOwner } from '../host/store.ts'
import { sweep, throwFailures, type Victim } from '../host/sweep.ts'
import { isEntryDead, type Network } from './call.ts'
import { freeForgotten, noteOf, type Reclaimed, type Wanted } from './forgotten.ts'
import { addressesOf, routesOf } from './victims.ts'

/**
 * Frees what is provably dead: attachments of the index whose namespace and host end are gone; reservations that the
 * index does not know, of another boot; files that a crash left without an owner.
 * @throws Fault 105 and others for what could not be removed, 11 when the lock is not to be had
 */
export async function reclaim(network: Network, wanted: Wanted = {}): Promise<Reclaimed> {
  const { spared } = wanted
  const dead = listEntries(network.indexFolder).filter(
    (entry) => !(spared && isOwner(entry, spared)) && isEntryDead(entry),
  )
  const freed = dead.length > 0 ? await freeDead(network, dead) : 0
  const forgotten = await freeForgotten(network, wanted)
  return { ...forgotten, freed: forgotten.freed + freed }
}

/** How many addresses it freed. `sweep` leaves what serves somebody else who has one of them by now. */
async function freeDead(network: Network, dead: readonly IndexEntry[]): Promise<number> {
  const victims = dead.map((entry): Victim => {
    const addresses = addressesOf(entry, network.storeFolder)
    const { elements } = entry
    // An ADD of the same attachment that has begun since keeps what it has claimed: that is what the maker is for.
    return {
      attachment: entry,
      owner: entry,
      addresses,
      links: [],
      elements,
      routes: routesOf(entry),
      maker: makerOf(entry),
    }
  })
  const notes = victims.flatMap(({ addresses, owner }) =>
    addresses
      .filter((address) => isOwner(readOwner(network.storeFolder, address) ?? owner, owner))
      .map((address) => noteOf(address, `container ${owner.containerID}, which is gone`)),
  )
  const also = await Promise.all(
    dead
      .filter(({ masquerade }) => masquerade === 'iptables')
      .map(async (entry) => (await import('./nat.ts')).natRemovals(entry, entry.addresses, network.storeFolder)),
  )
  throwFailures(await sweep(victims, network, { also: also.flat() }), 'reclaiming')
  engine.writeStderr(notes.join(''))
  return notes.length
}
