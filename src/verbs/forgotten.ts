/**
 * Reservations that the index does not know: of another boot, or what a crash left. Whether somebody has one is found
 * out under the same hold of the lock under which it is freed: meanwhile an ADD may have taken over its own.
 */
import * as engine from '#engine'
import { withoutPrefix } from '../core/ip.ts'
import type { FileStat } from '../engine/engine.ts'
import { statIfThere } from '../host/files.ts'
import { bootId, listEntries } from '../host/index-files.ts'
import { bootTime } from '../host/machine.ts'
import {
  type Doubts,
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
  readDoubts,
  readOwner,
  releaseAlien,
  reservedAt,
  writeBootNote,
} from '../host/store.ts'
import type { Network } from './call.ts'
import { readPorts } from './ports.ts'

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

/** What can be told of the reservations that the index does not know. */
interface Past {
  /** When this boot began, in milliseconds since 1970; 0 when all of them may be of the living. */
  readonly boot: number
  /** Who is seen to live. */
  readonly living: readonly Owner[]
  /** Files that were younger than the clock when the store was looked through, and are older than the boot by now. */
  readonly doubts: Doubts
}

/** Tells the reservations that, when no entry knows them, nobody can live by. */
export async function forgetting(network: Network, sight: Sight): Promise<(lease: Lease) => boolean> {
  const { boot, living, doubts } = await readPast(network, sight)
  const isLiving = among(living)
  return ({ address, owner }) => {
    const reserved = reservedAt(network.storeFolder, address)
    if (reserved === undefined) return false
    const isOld = reserved < boot || doubts.get(address) === reserved
    return owner ? isOld && !isLiving(owner) : isAged(reserved)
  }
}

/**
 * Clocks are set: a file that looks older than the boot may be a living pod's. But a pod has a port; where every port
 * of the bridge names its pod, there is no other.
 */
async function readPast(network: Network, sight: Sight): Promise<Past> {
  // Once looked through, what is left that the index does not know may live: only its missing port tells it does not.
  if (sight === 'none' && isLookedThrough(network.storeFolder)) {
    return { boot: 0, living: [], doubts: settledDoubts(network.storeFolder) }
  }
  const { isQuiet, named } = await readPorts(network)
  const living = named.filter((one) => one.network === network.netconf.name)
  return { boot: isQuiet ? bootTime() : 0, living, doubts: new Map() }
}

/**
 * A machine that boots with its clock behind takes the reservations of former boots for ones to come. They are noted
 * with their times: nobody of this boot has made them. Once the clock is right, they are older than the boot, and one
 * that was made anew has another time.
 */
function settledDoubts(storeFolder: string): Doubts {
  const boot = bootTime()
  return new Map([...readDoubts(storeFolder)].filter(([, time]) => time < boot))
}

const isLookedThrough = (storeFolder: string) => readBootNote(storeFolder) === bootId()

/** Whether an owner is one of these. A file of the oldest format names the container alone. */
function among(owners: readonly Owner[]): (owner: Owner) => boolean {
  const names = new Set(owners.flatMap(({ containerID, ifname }) => [`${containerID}\n${ifname}`, `${containerID}\n`]))
  return ({ containerID, ifname }) => names.has(`${containerID}\n${ifname}`)
}

const isAged = (reserved: number) => Math.abs(engine.now() - reserved) > EMPTY_GRACE

/** Files that are looked at under one lock: a store may have so many that others would wait for long. */
const PORTION = 500

/** What is known while the lock is held. */
interface Ground extends Wanted, Pick<Past, 'boot' | 'doubts'> {
  readonly isKnown: (address: string) => boolean
  readonly isLiving: (owner: Owner) => boolean
}

/**
 * Frees reservations that no entry tells of.
 * @throws Fault 11 when the lock is not to be had
 */
export async function freeForgotten(network: Network, wanted: Wanted): Promise<Reclaimed> {
  const { storeFolder } = network
  const past = await readPast(network, wanted.sight ?? 'bridge')
  const names = listAddresses(storeFolder)
  const doubts = new Map<string, number>()
  const isFirst = !isLookedThrough(storeFolder)
  const own: string[] = []
  let freed = 0
  for (let i = 0; i === 0 || i < names.length; i += PORTION) {
    await lockStore(storeFolder, false, (store) => {
      const ground = groundOf(network, wanted, past)
      let notes = ''
      const now = engine.now()
      for (const address of names.slice(i, i + PORTION)) {
        const seen = statIfThere(pathOf(storeFolder, address))
        if (seen?.kind !== 'file') continue
        const owner = ownerOfRest(store, address, seen, ground)
        if (owner === undefined) {
          if (isFirst && seen.modified > now) doubts.set(address, seen.modified)
        } else if (owner === 'own') own.push(address)
        else if (releaseAlien(store, address)) {
          freed++
          notes += noteOf(address, owner)
        }
      }
      engine.writeStderr(notes)
      if (i + PORTION >= names.length && !isLookedThrough(storeFolder)) writeBootNote(store, bootId(), doubts)
    })
  }
  return { freed, own }
}

export function noteOf(address: string, whose: string): string {
  return `pontoon: reclaimed ${address} of ${whose}\n`
}

/** To be used under the lock that it was made under. The index is read when it is first asked about: mostly never. */
function groundOf(network: Network, wanted: Wanted, { boot, living, doubts }: Past): Ground {
  let index: { readonly addresses: ReadonlySet<string>; readonly isLiving: (owner: Owner) => boolean } | undefined
  const read = () => {
    const entries = listEntries(network.indexFolder)
    const addresses = new Set(entries.flatMap((entry) => entry.addresses.map(withoutPrefix)))
    return { addresses, isLiving: among([...living, ...entries]) }
  }
  const known = () => (index ??= read())
  // Another call may have looked the store through since, and others have reserved by a clock that was set.
  const isOver = wanted.sight === 'none' && isLookedThrough(network.storeFolder)
  return {
    ...wanted,
    boot: isOver ? 0 : boot,
    doubts,
    isKnown: (address) => known().addresses.has(address),
    isLiving: (owner) => known().isLiving(owner),
  }
}

/**
 * Whose a reservation was that is to go, or `own`; undefined when neither. A file of which time and size tell enough
 * is not read.
 */
function ownerOfRest(
  { folder }: LockedStore,
  address: string,
  seen: FileStat,
  { boot, doubts, isKnown, isLiving, spared, thorough }: Ground,
): string | undefined {
  const isOld = seen.modified < boot || doubts.get(address) === seen.modified
  const isNobodys = isAged(seen.modified) && (seen.size === 0 || isOld || thorough)
  const mayGo = (isOld || isNobodys) && !isKnown(address)
  const mayBeOwn = spared !== undefined && mayBeOf(spared, seen.size)
  if (!mayGo && !mayBeOwn) return undefined
  const owner = seen.size === 0 ? undefined : readOwner(folder, address)
  if (spared && isOwner(owner, spared)) return 'own'
  if (!mayGo) return undefined
  if (!owner) return isNobodys ? 'nobody' : undefined
  return isOld && !isLiving(owner) ? `container ${owner.containerID}, of another boot` : undefined
}
