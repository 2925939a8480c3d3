/**
 * Frees what the dead hold; `or-reclaim.ts` says when. Without it a node whose power failed, or whose runtime crashed,
 * would run out of addresses: nobody sends DEL for those pods.
 */
import * as engine from '#engine'
import { type IndexEntry, listEntries, makerOf } from '../host/index-files.ts'
import { isOwner } from '../host/store.ts'
import { sweep, throwFailures, type Victim } from '../host/sweep.ts'
import { isEntryDead, type Network } from './call.ts'
import { freeForgotten, noteOf, type Reclaimed, type Wanted } from './forgotten.ts'
import { isOthers } from './others.ts'
import { addressesOf, masquerades, routesOf, withoutPrefix } from './victims.ts'

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

/** How many addresses it freed. */
async function freeDead(network: Network, dead: readonly IndexEntry[]): Promise<number> {
  const remains = dead.map((entry) => remainsOf(network, entry))
  const also = await Promise.all(
    dead
      .filter(({ masquerade }) => masquerade === 'iptables')
      .map(async (entry) => (await import('./nat.ts')).natRemovals(entry, entry.addresses)),
  )
  const victims = remains.map(({ victim }) => victim)
  throwFailures(await sweep(victims, network, { also: also.flat() }), 'reclaiming')
  const notes = remains.flatMap(({ victim, own }) =>
    own.map((address) => noteOf(address, `container ${victim.owner.containerID}, which is gone`)),
  )
  engine.writeStderr(notes.join(''))
  return notes.length
}

/** What is left of a dead attachment, without what serves somebody else who has its address by now. */
function remainsOf(network: Network, entry: IndexEntry) {
  const others = new Set(entry.addresses.map(withoutPrefix).filter((address) => isOthers(network, address, entry)))
  const addresses = addressesOf(entry, network.storeFolder)
  const victim: Victim = {
    attachment: entry,
    owner: entry,
    addresses,
    links: [],
    elements: entry.elements.filter((element) => !masquerades(element, (address) => others.has(address))),
    routes: routesOf(entry).filter(({ cidr }) => !others.has(withoutPrefix(cidr))),
    // An ADD of it that has begun since keeps what it has claimed.
    maker: makerOf(entry),
  }
  return {
    victim,
    own: addresses.filter((address) => !others.has(address)),
  }
}
