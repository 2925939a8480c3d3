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
import { isFileError, LockTimeout } from '../engine/engine.ts'
import { listIfThere, removeIfThere, statIfThere } from './files.ts'
import { clearHolder, noteHolder, readHolder } from './holder.ts'
import { isOwner, type Owner, ownerText, pathOf, readOwner, readQuietly } from './leases.ts'

export * from './leases.ts'

export interface LockedStore {
  readonly folder: string
  readonly isLocked: true
}

export type LivingHolder = (address: string) => Owner | undefined

/** Milliseconds to wait for the lock, and after which a holder that shows no sign of life is taken for dead. */
const WAIT = 20_000
const STALE = 3_000
/** Free addresses are found by trying, up to this many; then by listing. */
const TRIES = 64
/** A file without owner that is older than this was left by a crash, not by a writer between its two steps. */
export const EMPTY_GRACE = 30_000
const FILE_MODE = 0o600

/**
 * Runs `work` with the store of a network locked. Makes the folder when `make` says so; else a missing folder means
 * that there is nothing to do, and `work` is not run.
 * @throws Fault 11 naming the holder when the lock was not to be had in time, 5 naming the path for I/O errors
 */
export async function lockStore<T>(
  folder: string,
  make: boolean,
  work: (store: LockedStore) => Promise<T> | T,
): Promise<T | undefined> {
  if (!make && !statIfThere(folder)) return undefined
  const release = await orFault(folder, async () => {
    if (make) engine.makeDirectory(folder)
    return engine.lock(`${folder}/lock`, { wait: WAIT, stale: STALE })
  })
  try {
    noteHolder(folder)
    return await work({ folder, isLocked: true })
  } catch (error) {
    throw asFault(error, folder)
  } finally {
    clearHolder(folder)
    release()
  }
}

async function orFault<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asFault(error, folder)
  }
}

/** An error of the store as its user needs it. */
export function asFault(error: unknown, folder: string): unknown {
  if (error instanceof LockTimeout) {
    const remedy = `waited ${WAIT / 1000} s; ${readHolder(folder)}; try again later`
    return new Fault(CODE.tryAgain, `the store ${folder} is locked`, remedy, { cause: error })
  }
  if (!isFileError(error)) return error
  const reasons: Record<string, string> = {
    ENOSPC: 'the disk is full: free some space',
    EROFS: 'the file system is read-only: mount it for writing, or set ipam.dataDir to another folder',
    EACCES: 'permission denied: the plugin runs as root, or set ipam.dataDir to a folder it may write to',
    EPERM: 'not permitted: the file may be immutable (chattr -i), or the plugin does not run as root',
    ENOTDIR: 'a part of the path is a file: remove it, or set ipam.dataDir to another folder',
  }
  const message = `can't ${error.operation} ${error.path}`
  return new Fault(CODE.io, message, `${error.code}: ${reasons[error.code] ?? 'input/output error'}`, { cause: error })
}

/**
 * Reserves one address of each set: the one that was asked for, else the next free one behind the last reserved.
 * All or none.
 * @param livingHolder who is known to use an address, whatever the store says: it may have lost the reservation
 * @throws Fault 100 when a set has no free address, 101 when an asked-for one is taken
 */
export function reserve(
  store: LockedStore,
  sets: readonly RangeSet[],
  asked: readonly (Candidate | undefined)[],
  owner: Owner,
  livingHolder: LivingHolder,
): readonly Candidate[] {
  const taken: Candidate[] = []
  try {
    sets.forEach((set, i) => {
      const wanted = asked[i]
      const mine = wanted ? takeAsked(store, wanted, owner, livingHolder) : takeNext(store, set, i, owner, livingHolder)
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

function takeAsked(store: LockedStore, wanted: Candidate, owner: Owner, livingHolder: LivingHolder): Candidate {
  const address = formatIp(wanted.ip)
  if (take(store, address, owner, livingHolder) || isOwner(readOwner(store.folder, address), owner)) return wanted
  const holder = readOwner(store.folder, address)
  const who = holder ? `container ${holder.containerID}, interface ${holder.ifname}` : 'an unknown owner'
  throw new Fault(CODE.conflict, `address ${address} is taken`, `it is reserved by ${who} in ${store.folder}`)
}

function takeNext(
  store: LockedStore,
  set: RangeSet,
  index: number,
  owner: Owner,
  livingHolder: LivingHolder,
): Candidate | undefined {
  const last = parseIp(readQuietly(hintPath(store.folder, index))?.trim() ?? '')
  let tries = 0
  let listed: ReadonlySet<string> | undefined
  for (const candidate of candidates(set, last)) {
    const address = formatIp(candidate.ip)
    if (++tries > TRIES) {
      listed ??= new Set(listIfThere(store.folder))
      if (listed.has(address)) continue
    }
    if (take(store, address, owner, livingHolder)) return candidate
  }
  return undefined
}

/**
 * Takes an address: creates its file, which fails when there is one, and writes the owner in the same breath. What a
 * crash between the two leaves is an empty file, and an empty file that has aged is nobody's.
 */
function take(store: LockedStore, address: string, owner: Owner, livingHolder: LivingHolder): boolean {
  const path = pathOf(store.folder, address)
  try {
    engine.createFile(path, ownerText(owner), FILE_MODE)
  } catch (error) {
    if (!isFileError(error, 'EEXIST')) throw error
    if (!heal(path, owner)) return false
  }
  const living = livingHolder(address)
  if (!living || isOwner(living, owner)) return true
  // Somebody cleared the store while this one lives: the reservation is put back.
  engine.overwriteFile(path, ownerText(living))
  return false
}

function heal(path: string, owner: Owner): boolean {
  const seen = statIfThere(path)
  if (seen?.kind !== 'file' || seen.size > 0 || Math.abs(engine.now() - seen.modified) < EMPTY_GRACE) return false
  engine.overwriteFile(path, ownerText(owner))
  return true
}

/** Frees an address that this owner holds. True when it did; an address of somebody else is left alone. */
export function release(store: LockedStore, address: string, owner: Owner): boolean {
  return isOwner(readOwner(store.folder, address), owner) && removeIfThere(pathOf(store.folder, address))
}

const BOOT_NOTE = 'pontoon.boot'

/** The boot in which the store was last looked through for what another boot left; undefined when it never was. */
export function readBootNote(folder: string): string | undefined {
  return readQuietly(`${folder}/${BOOT_NOTE}`)?.trim()
}

export function writeBootNote(store: LockedStore, boot: string): void {
  const path = `${store.folder}/${BOOT_NOTE}`
  if (statIfThere(path)) engine.overwriteFile(path, boot)
  else engine.createFile(path, boot, FILE_MODE)
}

/** Frees an address whatever its file says: for files that no owner can be read from. */
export function releaseAlien(store: LockedStore, address: string): boolean {
  return removeIfThere(pathOf(store.folder, address))
}

function hintPath(folder: string, index: number): string {
  return `${folder}/last_reserved_ip.${index}`
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
