/** Reading the store of reservations, which needs no lock: an address's file is created with its owner in it. */
import { isFileError } from '../engine/engine.ts'
import { listIfThere, readIfThere, statIfThere } from './files.ts'

export interface Owner {
  readonly containerID: string
  /** '' in a file of the oldest format. */
  readonly ifname: string
}

export interface Lease {
  readonly address: string
  /** undefined when the file says nothing that can be understood: a crash, or somebody else's. */
  readonly owner: Owner | undefined
}

export function storeFolder(dataDir: string, network: string): string {
  return `${dataDir}/${network}`
}

/** The file's name of an address. */
export function pathOf(folder: string, address: string): string {
  return `${folder}/${address}`
}

export function ownerText({ containerID, ifname }: Owner): string {
  return `${containerID}\r\n${ifname}`
}

/** Who holds an address; undefined when the file is not there, empty or alien. */
export function readOwner(folder: string, address: string): Owner | undefined {
  return parseOwner(readQuietly(pathOf(folder, address)) ?? '')
}

export function readQuietly(path: string): string | undefined {
  try {
    return readIfThere(path)
  } catch (error) {
    // A folder, a pipe, a socket, or what has no end: somebody else's, whatever it is.
    if (isFileError(error, 'EISDIR', 'EACCES', 'EAGAIN', 'ENXIO', 'EFBIG')) return undefined
    throw error
  }
}

/** Lines end in CR LF or LF. (A store has thousands of files: an expression to split by costs more than to read one.) */
function parseOwner(text: string): Owner | undefined {
  const [first = '', ifname = '', ...rest] = text.trim().split('\n')
  const containerID = first.endsWith('\r') ? first.slice(0, -1) : first
  if (!/^[A-Za-z0-9][\w.-]*$/.test(containerID) || rest.length > 0) return undefined
  return { containerID, ifname: ifname.trim() }
}

/** What a file's name must be like to be an address; whether it is one does not matter here. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}:[0-9a-f:.]*)$/

/** All addresses in the store with their owners. Reads every file: the slow, sure way. */
export function readLeases(folder: string): readonly Lease[] {
  return listAddresses(folder).map((address) => ({ address, owner: readOwner(folder, address) }))
}

/** The names in the store that are addresses; locks, hints and alien files are not. */
export function listAddresses(folder: string): readonly string[] {
  return listIfThere(folder).filter((name) => ADDRESS.test(name))
}

/** True when the owner is this one; a file of the oldest format names the container alone. */
export function isOwner(owner: Owner | undefined, wanted: Owner): boolean {
  return owner?.containerID === wanted.containerID && (owner.ifname === wanted.ifname || owner.ifname === '')
}

/** Can a file of so many bytes name this owner? Behind the words there may be a line break. */
export function mayBeOf({ containerID, ifname }: Owner, size: number): boolean {
  return size >= containerID.length && size <= containerID.length + ifname.length + 4
}

/** When an address was reserved, in milliseconds since 1970; undefined when it is not, or by no plain file. */
export function reservedAt(folder: string, address: string): number | undefined {
  const seen = statIfThere(pathOf(folder, address))
  return seen?.kind === 'file' ? seen.modified : undefined
}
