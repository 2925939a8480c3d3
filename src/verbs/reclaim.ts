/**
 * Frees what the dead hold; `or-reclaim.ts` says when. Without it a node whose power failed, or whose runtime crashed,
 * would run out of addresses: nobody sends DEL for those pods.
 */
import * as engine from '#engine'
import { parseLabel } from '../core/attachment.ts'
import { line } from '../core/line.ts'
import { bootId, listEntries } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { bootTime, hasLink } from '../host/machine.ts'
import { openSession } from '../host/session.ts'
import {
  EMPTY_GRACE,
  isOwner,
  type Lease,
  lockStore,
  type Owner,
  readBootNote,
  readLeases,
  release,
  releaseAlien,
  reservedAt,
  writeBootNote,
} from '../host/store.ts'
import { sweep, throwFailures, type Victim } from '../host/sweep.ts'
import { isEntryDead, type Network } from './call.ts'
import { addressesOf, withoutPrefix } from './victims.ts'

/** Where a pod of the network can be seen: as a port of the bridge, or, in the role host-local, nowhere. */
export type Sight = 'bridge' | 'none'

/**
 * Frees what is provably dead: attachments of the index whose namespace and host end are gone; reservations that the
 * index does not know, of another boot; files that a crash left without an owner.
 * @param spared whose ADD it is done for: it takes over what a former one left
 * @returns how many addresses it freed
 */
export async function reclaim(network: Network, sight: Sight = 'bridge', spared?: Owner): Promise<number> {
  const isSpared = (owner: Owner | undefined) => spared !== undefined && isOwner(owner, spared)
  const entries = listEntries(network.indexFolder)
  const dead = entries.filter((entry) => !isSpared(entry) && isEntryDead(entry))
  const victims = dead.map((entry): Victim => {
    const addresses = addressesOf(entry, network.storeFolder)
    return { attachment: entry, owner: entry, addresses, links: [], elements: entry.elements }
  })
  const also = await Promise.all(
    dead
      .filter(({ masquerade }) => masquerade === 'iptables')
      .map(async (entry) => (await import('./nat.ts')).natRemovals(entry, entry.addresses)),
  )
  if (dead.length > 0) throwFailures(await sweep(victims, network, { also: also.flat() }), 'reclaiming')
  for (const { addresses, owner } of victims) {
    for (const address of addresses) note(address, `container ${owner.containerID}, which is gone`)
  }
  const known = new Set(entries.flatMap(({ addresses }) => addresses.map(withoutPrefix)))
  const forgotten = await freeForgotten(network, (lease) => known.has(lease.address) || isSpared(lease.owner), sight)
  return victims.flatMap(({ addresses }) => addresses).length + forgotten
}

function note(address: string, whose: string): void {
  engine.writeStderr(`pontoon: reclaimed ${address} of ${whose}\n`)
}

/** Tells the reservations that, when no entry knows them, nobody can live by. */
export async function forgetting(network: Network, sight: Sight): Promise<(lease: Lease) => boolean> {
  const { storeFolder } = network
  // Once looked through, what is left that the index does not know may live: only its missing port tells it does not.
  const isFirst = readBootNote(storeFolder) !== bootId()
  const ofOtherBoot = (isFirst || sight === 'bridge') && (await isQuiet(network)) ? bootTime() : 0
  return (lease) => isForgotten(lease, storeFolder, ofOtherBoot)
}

/** Frees reservations that no entry tells of. */
async function freeForgotten(network: Network, isKnown: (lease: Lease) => boolean, sight: Sight): Promise<number> {
  const { storeFolder } = network
  const isGone = await forgetting(network, sight)
  let freed = 0
  await lockStore(storeFolder, false, (store) => {
    for (const lease of readLeases(storeFolder)) {
      if (isKnown(lease) || !isGone(lease)) continue
      const done = lease.owner ? release(store, lease.address, lease.owner) : releaseAlien(store, lease.address)
      if (!done) continue
      freed++
      note(lease.address, lease.owner ? `container ${lease.owner.containerID}, of another boot` : 'nobody')
    }
    writeBootNote(store, bootId())
  })
  return freed
}

function isForgotten({ address, owner }: Lease, folder: string, ofOtherBoot: number): boolean {
  const reserved = reservedAt(folder, address)
  if (reserved === undefined) return false
  return owner ? reserved < ofOtherBoot : Math.abs(engine.now() - reserved) > EMPTY_GRACE
}

/**
 * Can no pod live that the index does not know? Clocks are set: a file that looks older than the boot may be a living
 * pod's. But a pod has a port; where every port of the bridge is one of Pontoon's, there is no other.
 */
export async function isQuiet({ netconf: { bridge } }: Network): Promise<boolean> {
  if (!hasLink(bridge)) return true
  const session = openSession()
  const ports = readLinks(await session.run([line`addr show master ${bridge}`]))
  await session.close()
  // Whose other end is here too, as a VLAN gateway's, is no pod's.
  return [...ports.values()].every(
    ({ type, alias, peerName }) => type !== 'veth' || peerName !== undefined || parseLabel(alias) !== undefined,
  )
}
