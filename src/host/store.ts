/**
 * The store of reservations, in the reference's format: `<dataDir>/<network>/<address>` holds the owner, container ID,
 * CR LF, interface name. It is the truth about addresses.
 *
 * An address is taken by exclusive creation: two writers never both have it, whether they hold the lock or not, and
 * whether they are Pontoon or the reference. The lock only keeps order. What changes the store takes a `LockedStore`,
 * which only `lockStore` makes.
 */
import * as engine from '#engine'
import { type Candidate, candidates } from '../core/allocate.ts'
import { CODE, Fault } from '../core/fault.ts'
import { formatIp, type Ip, parseIp } from '../core/ip.ts'
import { describeRange, type RangeSet } from '../core/ranges.ts'
import { isFileError } from '../engine/engine.ts'
import { listIfThere, removeIfThere, statIfThere } from './files.ts'
import { isOwner, type Owner, ownerText, pathOf, readOwner, readQuietly } from './leases.ts'
import type { LockedStore } from './store-lock.ts'

export * from './boot-note.ts'
export * from './leases.ts'
export * from './store-lock.ts'

export type LivingHolder = (address: string) => Owner | undefined

/** What is known and noted beside the store. */
export interface Beside {
  /** Who is known to use an address, whatever the store says: it may have lost the reservation. */
  readonly livingHolder: LivingHolder
  /** Told of an address before its file is made or written, so that of one which a crash leaves empty it is known whose it is. */
  readonly intend?: (candidate: Candidate) => void
}

/** Free addresses are found by trying, up to this many; then by listing. */
const TRIES = 64
/** A file without owner that is older than this was left by a crash, not by a writer between its two steps. */
export const EMPTY_GRACE = 30_000
const FILE_MODE = 0o600

/**
 * Reserves one address of each set: the one that was asked for, else the next free one behind the last reserved.
 * All or none.
 * @throws Fault 100 when a set has no free address, 101 when an asked-for one is taken
 */
export function reserve(
  store: LockedStore,
  sets: readonly RangeSet[],
  asked: readonly (Candidate | undefined)[],
  owner: Owner,
  beside: Beside,
): readonly Candidate[] {
  const taken: Candidate[] = []
  try {
    sets.forEach((set, i) => {
      const wanted = asked[i]
      const mine = wanted ? takeAsked(store, wanted, owner, beside) : takeNext(store, set, i, owner, beside)
      if (!mine) throw exhausted(set, i, store.folder)
      taken.push(mine)
      writeHint(store, i, mine.ip)
    })
    return taken
  } catch (error) {
    for (const { ip } of taken) release(store, formatIp(ip), owner)
    throw error
  }
}

function exhausted(set: RangeSet, index: number, folder: string): Fault {
  const ranges = set.map(describeRange).join(', ')
  const remedy = `every address of ${ranges} is reserved in ${folder}; remove pods, or give range set ${index} more`
  return new Fault(CODE.exhausted, `no free address in range set ${index} (${ranges})`, remedy)
}

function takeAsked(store: LockedStore, wanted: Candidate, owner: Owner, beside: Beside): Candidate {
  const address = formatIp(wanted.ip)
  if (take(store, wanted, owner, beside) || isOwner(readOwner(store.folder, address), owner)) return wanted
  const holder = readOwner(store.folder, address)
  const who = holder ? `container ${holder.containerID}, interface ${holder.ifname}` : 'an unknown owner'
  throw new Fault(CODE.conflict, `address ${address} is taken`, `it is reserved by ${who} in ${store.folder}`)
}

function takeNext(
  store: LockedStore,
  set: RangeSet,
  index: number,
  owner: Owner,
  beside: Beside,
): Candidate | undefined {
  const last = readLastReserved(store.folder, index)
  let tries = 0
  let listed: ReadonlySet<string> | undefined
  for (const candidate of candidates(set, last)) {
    const address = formatIp(candidate.ip)
    if (++tries > TRIES) {
      listed ??= new Set(listIfThere(store.folder))
      if (listed.has(address)) continue
    }
    if (take(store, candidate, owner, beside)) return candidate
  }
  return undefined
}

/**
 * Takes an address: creates its file, which fails when there is one, and writes the owner in the same breath. What a
 * crash between the two leaves is an empty file, and an empty file that has aged is nobody's.
 */
function take(store: LockedStore, candidate: Candidate, owner: Owner, { livingHolder, intend }: Beside): boolean {
  const address = formatIp(candidate.ip)
  const path = pathOf(store.folder, address)
  try {
    if (intend && !statIfThere(path)) intend(candidate)
    engine.createFile(path, ownerText(owner), FILE_MODE)
  } catch (error) {
    if (!isFileError(error, 'EEXIST')) throw error
    if (!isAbandoned(path)) return false
    intend?.(candidate)
    engine.overwriteFile(path, ownerText(owner))
  }
  const living = livingHolder(address)
  if (!living || isOwner(living, owner)) return true
  // Somebody cleared the store while this one lives: the reservation is put back.
  engine.overwriteFile(path, ownerText(living))
  return false
}

/** An empty file, so old that nobody is about to write it. */
function isAbandoned(path: string): boolean {
  const seen = statIfThere(path)
  return seen?.kind === 'file' && seen.size === 0 && Math.abs(engine.now() - seen.modified) >= EMPTY_GRACE
}

/** Frees an address that this owner holds. True when it did; an address of somebody else is left alone. */
export function release(store: LockedStore, address: string, owner: Owner): boolean {
  return isOwner(readOwner(store.folder, address), owner) && removeIfThere(pathOf(store.folder, address))
}

/** Is there a file of this address with nothing in it, as a crash leaves it? */
export function isEmpty(folder: string, address: string): boolean {
  const seen = statIfThere(pathOf(folder, address))
  return seen?.kind === 'file' && seen.size === 0
}

/** Frees an address whatever its file says: for files that no owner can be read from. */
export function releaseAlien(store: LockedStore, address: string): boolean {
  return removeIfThere(pathOf(store.folder, address))
}

function hintPath(folder: string, index: number): string {
  return `${folder}/last_reserved_ip.${index}`
}

/** The address that a set gave last: the next search starts behind it. */
export function readLastReserved(folder: string, index: number): Ip | undefined {
  return parseIp(readQuietly(hintPath(folder, index))?.trim() ?? '')
}

/** Where the next search starts. A hint only: when it can't be written, the search starts elsewhere. */
function writeHint(store: LockedStore, index: number, ip: Ip): void {
  const path = hintPath(store.folder, index)
  try {
    try {
      engine.overwriteFile(path, formatIp(ip))
    } catch (error) {
      if (!isFileError(error, 'ENOENT')) throw error
      engine.createFile(path, formatIp(ip), FILE_MODE)
    }
  } catch {
    // The reservation stands. A full disk must not cost it.
  }
}
