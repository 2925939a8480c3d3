/**
 * The index in /run: one small file per attachment, which tells the living from the dead and makes DEL and CHECK
 * independent of how many there are. It is an index: when it is missing, the slow, sure way is taken.
 */
import { type Attachment, digest, keyOf } from '../core/attachment.ts'
import {
  createAnew,
  draftOf,
  inFolder,
  listIfThere,
  readIfThere,
  removeIfThere,
  replaceFile,
  statIfThere,
} from './files.ts'

export const RUN_FOLDER = '/run/pontoon'
const DEFAULT_DATA_DIR = '/var/lib/cni/networks'

export interface IndexEntry extends Attachment {
  readonly version: 1
  readonly dataDir: string
  /** False while the ADD is under way: the addresses may be missing. */
  readonly done: boolean
  /** The process that makes it. */
  readonly pid: number
  /** With prefix lengths: `10.9.0.2/24`. */
  readonly addresses: readonly string[]
  readonly netns: string
  readonly device: number
  readonly inode: number
  readonly hostVeth: string
  readonly bridge: string
  /** 0: none. Older releases have not written it. */
  readonly vlan?: number
  readonly masquerade: 'none' | 'nftables' | 'iptables'
  /** What it has in nft sets, as `elementOf` names it. */
  readonly elements: readonly string[]
  readonly boot: string
  /** Milliseconds since 1970. */
  readonly time: number
}

/** The folder of one network's entries. A network of another dataDir is another one, whatever its name. */
export function indexFolder(dataDir: string, network: string): string {
  return `${RUN_FOLDER}/${network}${dataDir === DEFAULT_DATA_DIR ? '' : suffixOf(dataDir)}`
}

/** `@%var%lib%other`; digits instead of what is too long for a file's name, or could mean another one. */
function suffixOf(dataDir: string): string {
  const isPlain = dataDir.length < 100 && !dataDir.includes('%')
  return `@${isPlain ? dataDir.replaceAll('/', '%') : digest(dataDir).slice(0, 16)}`
}

function entryPath(folder: string, key: string): string {
  return `${folder}/${key.slice(0, 32)}`
}

/** The entry of an attachment; `damaged` when there is one that can't be read, as a crash may leave it. */
export function readEntry(folder: string, key: string): IndexEntry | 'damaged' | undefined {
  const text = readIfThere(entryPath(folder, key))
  return text === undefined ? undefined : (parseEntry(text) ?? 'damaged')
}

function parseEntry(text: string): IndexEntry | undefined {
  try {
    const entry = JSON.parse(text) as IndexEntry
    const sound =
      entry.version === 1 &&
      Array.isArray(entry.addresses) &&
      Array.isArray(entry.elements) &&
      typeof entry.containerID === 'string'
    return sound && typeof entry.network === 'string' && typeof entry.ifname === 'string' ? entry : undefined
  } catch {
    return undefined
  }
}

/** Which ADD an entry is of, and how far it was: it changes when that goes on, or another begins. '' without an entry. */
export function makerOf(entry: IndexEntry | 'damaged' | undefined): string {
  if (entry === undefined) return ''
  return entry === 'damaged' ? entry : `${entry.pid} ${entry.time} ${entry.done}`
}

export function writeEntry(folder: string, entry: IndexEntry): void {
  inFolder(folder, () => replaceFile(entryPath(folder, keyOf(entry)), JSON.stringify(entry), 0o600))
}

/** Removes an attachment's entry, and the notes of its addresses. */
export function removeEntry(folder: string, key: string, addresses: readonly string[] = []): void {
  for (const address of addresses) removeNote(folder, address, key)
  removeIfThere(entryPath(folder, key))
  removeIfThere(draftOf(entryPath(folder, key)))
}

function notePath(folder: string, address: string): string {
  return `${folder}/${address}`
}

/** Notes who has an address, so that it is not given out again when the store has lost the reservation. */
export function noteAddress(folder: string, address: string, key: string): void {
  createAnew(notePath(folder, address), key.slice(0, 32), 0o600)
}

/** Removes the note of an address, when it is this attachment's; or empty, as an ADD leaves it that is killed over it. */
export function removeNote(folder: string, address: string, key: string): void {
  const noted = readIfThere(notePath(folder, address))
  if (noted === '' || noted === key.slice(0, 32)) removeIfThere(notePath(folder, address))
}

/** The entry of the attachment that an address is noted for. */
export function readHolderOf(folder: string, address: string): IndexEntry | undefined {
  const key = readIfThere(notePath(folder, address))
  const entry = key && readEntry(folder, key)
  return entry && entry !== 'damaged' ? entry : undefined
}

/** All readable entries of a network. */
export function listEntries(folder: string): readonly IndexEntry[] {
  return listIfThere(folder)
    .filter((name) => /^[0-9a-f]{32}$/.test(name))
    .flatMap((name) => parseEntry(readIfThere(`${folder}/${name}`) ?? '') ?? [])
}

/** The entries of all networks but this folder's. */
export function listEntriesElsewhere(folder: string): readonly IndexEntry[] {
  return listIfThere(RUN_FOLDER)
    .map((name) => `${RUN_FOLDER}/${name}`)
    .filter((other) => other !== folder && statIfThere(other)?.kind === 'directory')
    .flatMap(listEntries)
}

let boot: string | undefined

/** This boot's ID (random(4)): an entry of another one names nothing that still lives. */
export function bootId(): string {
  boot ??= readIfThere('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
  return boot
}
