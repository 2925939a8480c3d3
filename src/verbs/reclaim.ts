/**
 * Frees what the dead hold; `or-reclaim.ts` says when. Without it a node whose power failed, or whose runtime crashed,
 * would run out of addresses: nobody sends DEL for those pods.
 */
import * as engine from '#engine'
import { parseLabel } from '../core/attachment.ts'
import { isAlone } from '../core/kinds/host-route.ts'
import { line } from '../core/line.ts'
import { statIfThere } from '../host/files.ts'
import { bootId, listEntries } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { bootTime, hasLink } from '../host/machine.ts'
import { openSession } from '../host/session.ts'
import {
  EMPTY_GRACE,
  isOwner,
  type Lease,
  type LockedStore,
  listAddresses,
  lockStore,
  mayBeOf,
  type Owner,
  pathOf,
  readBootNote,
  readOwner,
  releaseAlien,
  reservedAt,
  writeBootNote,
} from '../host/store.ts'
import { sweep, throwFailures, type Victim } from '../host/sweep.ts'
import { isEntryDead, type Network } from './call.ts'
import { addressesOf, withoutPrefix } from './victims.ts'

/** Where a pod of the network can be seen: as a port of the bridge, or, in the role host-local, nowhere. */
export type Sight = 'bridge' | 'none'

export interface Reclaimed {
  /** How many addresses it freed. */
  readonly freed: number
  /** The addresses in the store of the one that it was done for. */
  readonly own: readonly string[]
}

export interface Wanted {
  readonly sight?: Sight
  /** Whose ADD it is done for: it takes over what a former one left. */
  readonly spared?: Owner | undefined
  /** Read every file: also those that a crash filled with rubbish are nobody's. */
  readonly thorough?: boolean
}

/**
 * Frees what is provably dead: attachments of the index whose namespace and host end are gone; reservations that the
 * index does not know, of another boot; files that a crash left without an owner.
 */
export async function reclaim(network: Network, wanted: Wanted = {}): Promise<Reclaimed> {
  const { spared } = wanted
  const entries = listEntries(network.indexFolder)
  const dead = entries.filter((entry) => !(spared && isOwner(entry, spared)) && isEntryDead(entry))
  const victims = dead.map((entry): Victim => {
    const addresses = addressesOf(entry, network.storeFolder)
    return { attachment: entry, owner: entry, addresses, links: [], elements: entry.elements }
  })
  const also = await Promise.all(
    dead
      .filter(({ masquerade }) => masquerade === 'iptables')
      .map(async (entry) => (await import('./nat.ts')).natRemovals(entry, entry.addresses)),
  )
  const routes = dead.flatMap(({ addresses }) => addresses.filter(isAlone))
  if (routes.length > 0) also.push((await import('../host/host-routes.ts')).routeRemovals(routes))
  if (dead.length > 0) throwFailures(await sweep(victims, network, { also: also.flat() }), 'reclaiming')
  for (const { addresses, owner } of victims) {
    for (const address of addresses)
      engine.writeStderr(noteOf(address, `container ${owner.containerID}, which is gone`))
  }
  const known = new Set(entries.flatMap(({ addresses }) => addresses.map(withoutPrefix)))
  const forgotten = await freeForgotten(network, (address) => known.has(address), wanted)
  return { ...forgotten, freed: forgotten.freed + victims.flatMap(({ addresses }) => addresses).length }
}

function noteOf(address: string, whose: string): string {
  return `pontoon: reclaimed ${address} of ${whose}\n`
}

/** Tells the reservations that, when no entry knows them, nobody can live by. */
export async function forgetting(network: Network, sight: Sight): Promise<(lease: Lease) => boolean> {
  const { storeFolder } = network
  const ofOtherBoot = await bootOf(network, sight)
  return ({ address, owner }) => {
    const reserved = reservedAt(storeFolder, address)
    if (reserved === undefined) return false
    return owner ? reserved < ofOtherBoot : isAged(reserved)
  }
}

/** When this boot began; 0 when what the index does not know may live for all that can be told. */
async function bootOf(network: Network, sight: Sight): Promise<number> {
  // Once looked through, what is left that the index does not know may live: only its missing port tells it does not.
  const isFirst = readBootNote(network.storeFolder) !== bootId()
  return (isFirst || sight === 'bridge') && (await isQuiet(network)) ? bootTime() : 0
}

const isAged = (reserved: number) => Math.abs(engine.now() - reserved) > EMPTY_GRACE

/** Files that are looked at under one lock: a store may have so many that others would wait for long. */
const PORTION = 500

/** What is known before the store is gone through. */
interface Ground extends Wanted {
  readonly isKnown: (address: string) => boolean
  readonly boot: number
}

/** Frees reservations that no entry tells of. */
async function freeForgotten(
  network: Network,
  isKnown: (address: string) => boolean,
  wanted: Wanted,
): Promise<Reclaimed> {
  const { storeFolder } = network
  const ground = { ...wanted, isKnown, boot: await bootOf(network, wanted.sight ?? 'bridge') }
  const names = listAddresses(storeFolder)
  const own: string[] = []
  let freed = 0
  for (let i = 0; i === 0 || i < names.length; i += PORTION) {
    await lockStore(storeFolder, false, (store) => {
      let notes = ''
      for (const address of names.slice(i, i + PORTION)) {
        const owner = ownerOfRest(store, address, ground)
        if (owner === undefined) continue
        if (owner === 'own') own.push(address)
        else if (releaseAlien(store, address)) {
          freed++
          notes += noteOf(address, owner)
        }
      }
      engine.writeStderr(notes)
      if (i + PORTION >= names.length) writeBootNote(store, bootId())
    })
  }
  return { freed, own }
}

/**
 * Whose a reservation was that is to go, or `own`; undefined when neither. A file of which time and size tell enough
 * is not read.
 */
function ownerOfRest(
  { folder }: LockedStore,
  address: string,
  { boot, isKnown, spared, thorough }: Ground,
): string | undefined {
  const seen = statIfThere(pathOf(folder, address))
  if (seen?.kind !== 'file') return undefined
  const isOld = seen.modified < boot
  const isNobodys = isAged(seen.modified) && (seen.size === 0 || isOld || thorough)
  const mayGo = (isOld || isNobodys) && !isKnown(address)
  const mayBeOwn = spared !== undefined && mayBeOf(spared, seen.size)
  if (!mayGo && !mayBeOwn) return undefined
  const owner = seen.size === 0 ? undefined : readOwner(folder, address)
  if (spared && isOwner(owner, spared)) return 'own'
  if (!mayGo) return undefined
  if (!owner) return isNobodys ? 'nobody' : undefined
  return isOld ? `container ${owner.containerID}, of another boot` : undefined
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
