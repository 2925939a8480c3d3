/** Files. Descriptors are closed on every path; a failure is told as a `FileError`. */
import * as os from 'qjs:os'
import { FileError, type FileStat, LARGEST } from '../engine.ts'
import { checked, errnoName, plain } from './errno.ts'
import { decode, encode } from './utf8.ts'

const ENOENT = -2
const ENOTDIR = -20

export function readFile(path: string): string {
  const content = native.read(plain(path), 0)
  if (typeof content === 'number') throw new FileError(errnoName(content), 'read', path)
  return typeof content === 'string' ? content : decode(new Uint8Array(content))
}

export function readIfThere(path: string): string | undefined {
  const content = native.read(plain(path), LARGEST)
  if (typeof content === 'string') return content
  if (typeof content !== 'number') return decode(new Uint8Array(content))
  return absent(content, 'read', path)
}

/** Passes over that something is not there, and no other failure. */
function absent(result: number, operation: string, path: string): undefined {
  if (result !== ENOENT && result !== ENOTDIR) throw new FileError(errnoName(result), operation, path)
}

/** Reads to the end, as text; more than `limit` bytes is `EFBIG`. */
export function readAll(descriptor: number, path: string, limit: number): string {
  let buffer = new ArrayBuffer(4096)
  let length = 0
  for (;;) {
    if (length === buffer.byteLength) {
      const larger = new ArrayBuffer(buffer.byteLength * 4)
      new Uint8Array(larger).set(new Uint8Array(buffer))
      buffer = larger
    }
    const count = os.read(descriptor, buffer, length, buffer.byteLength - length)
    if (count === 0) return decode(new Uint8Array(buffer, 0, length))
    if (mayTryAgain(count)) continue
    length += checked(count, 'read', path)
    if (length > limit) throw new FileError('EFBIG', 'read', path)
  }
}

/** Writes all of it; answers with 0 or a negative errno. */
export function writeAll(descriptor: number, bytes: Uint8Array<ArrayBuffer>): number {
  let written = 0
  while (written < bytes.length) {
    const count = os.write(descriptor, bytes.buffer, bytes.byteOffset + written, bytes.length - written)
    if (mayTryAgain(count)) continue
    if (count < 0) return count
    written += count
  }
  return 0
}

/** Whoever gave us the descriptor may have made it non-blocking: then wait, since there is nothing else to do. */
function mayTryAgain(result: number): boolean {
  const name = result < 0 ? errnoName(result) : ''
  if (name === 'EAGAIN') os.sleep(1)
  return name === 'EAGAIN' || name === 'EINTR'
}

export function createFile(path: string, content: string, mode: number): void {
  checked(writeFile(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, content), 'create', path)
}

export function overwriteFile(path: string, content: string): void {
  checked(writeFile(path, os.O_WRONLY | os.O_TRUNC, 0, content), 'write', path)
}

export function appendFile(path: string, content: string, mode: number): void {
  checked(writeFile(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode, content), 'write', path)
}

/** Answers with 0 or a negative errno. A file that it made itself, and could not fill, is removed again. */
function writeFile(path: string, flags: number, mode: number, content: string): number {
  const done = native.write(plain(path), flags, mode, content)
  if (done !== undefined) return done
  const descriptor = os.open(path, flags, mode)
  if (descriptor < 0) return descriptor
  const failed = writeAndClose(descriptor, content)
  if (failed < 0 && (flags & os.O_EXCL) !== 0) os.remove(path)
  return failed
}

/** A network file system may tell of a failed write only when the file is closed. */
function writeAndClose(descriptor: number, content: string): number {
  const written = writeAll(descriptor, encode(content))
  const closed = os.close(descriptor)
  return written < 0 ? written : closed
}

export function copyFile(from: string, to: string, mode: number): void {
  const source = openFile(from)
  try {
    const target = checked(os.open(plain(to), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), 'create', to)
    try {
      copyBytes(source, from, target, to)
    } catch (error) {
      os.remove(to)
      throw error
    }
  } finally {
    os.close(source)
  }
}

/** Closes the target. */
function copyBytes(source: number, from: string, target: number, to: string): void {
  const buffer = new ArrayBuffer(1 << 18)
  let failed = 0
  try {
    for (let count = 1; count !== 0 && failed === 0; ) {
      count = os.read(source, buffer, 0, buffer.byteLength)
      if (mayTryAgain(count)) continue
      failed = writeAll(target, new Uint8Array(buffer, 0, checked(count, 'read', from)))
    }
  } finally {
    const closed = os.close(target)
    failed = failed < 0 ? failed : closed
  }
  checked(failed, 'write', to)
}

export function makeLink(target: string, path: string): void {
  checked(os.symlink(plain(target), plain(path)), 'link', path)
}

export function makeHardLink(from: string, path: string): void {
  checked(native.link(plain(from), plain(path)), 'link', path)
}

export function rename(from: string, to: string): void {
  checked(os.rename(plain(from), plain(to)), 'rename', from)
}

export function removeFile(path: string): void {
  // remove(3) would take an empty directory too.
  const found = native.stat(plain(path), false)
  if (typeof found !== 'number' && (found[0] & os.S_IFMT) === os.S_IFDIR) throw new FileError('EISDIR', 'remove', path)
  checked(os.remove(path), 'remove', path)
}

export function removeDirectory(path: string): void {
  // With the slash, remove(3) never takes a file.
  checked(os.remove(`${plain(path)}/`), 'remove directory', path)
}

export function makeDirectory(path: string): void {
  let result = os.mkdir(plain(path), 0o755)
  const parent = path.slice(0, path.lastIndexOf('/'))
  if (result < 0 && errnoName(result) === 'ENOENT' && parent !== '') {
    makeDirectory(parent)
    result = os.mkdir(plain(path), 0o755)
  }
  const isThere = result < 0 && errnoName(result) === 'EEXIST' && stat(path).kind === 'directory'
  if (!isThere) checked(result, 'make directory', path)
}

export function listDirectory(path: string): readonly string[] {
  const [names, errno] = os.readdir(plain(path))
  checked(-errno, 'list', path)
  return names.filter((name) => name !== '.' && name !== '..')
}

export function stat(path: string): FileStat {
  const found = native.stat(plain(path), true)
  if (typeof found === 'number') throw new FileError(errnoName(found), 'stat', path)
  return fileStat(found)
}

export function statIfThere(path: string): FileStat | undefined {
  const found = native.stat(plain(path), true)
  return typeof found === 'number' ? absent(found, 'stat', path) : fileStat(found)
}

/** By index: to take an array apart by a pattern makes an iterator, which costs more than the rest. */
function fileStat(found: Exclude<ReturnType<typeof native.stat>, number>): FileStat {
  return { kind: kindOf(found[0]), device: found[1], inode: found[2], size: found[3], modified: found[4] }
}

function kindOf(mode: number): FileStat['kind'] {
  const format = mode & os.S_IFMT
  if (format === os.S_IFREG) return 'file'
  if (format === os.S_IFDIR) return 'directory'
  return format === os.S_IFLNK ? 'link' : 'other'
}

export function readLink(path: string): string {
  const [target, errno] = os.readlink(plain(path))
  checked(-errno, 'read link', path)
  return target
}

/** `O_TMPFILE` with the `O_DIRECTORY` of x86-64, and with that of arm64. */
const TEMPORARY = [0o20200000, 0o20040000]
const REFUSALS = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ETXTBSY'])

/**
 * There is no access(2) here. Opening a file for writing asks the same of the kernel; for a directory, opening an
 * unnamed temporary file does, and leaves neither a name nor a new modification time. A file system that has no such
 * files says so only after it has looked at permissions and the read-only flag, hence every other error is a yes.
 */
export function canWrite(path: string): boolean {
  const [found] = os.stat(plain(path))
  if (!found) return false
  const isDirectory = (found.mode & os.S_IFMT) === os.S_IFDIR
  for (const flag of isDirectory ? TEMPORARY : [0]) {
    const result = os.open(plain(path), os.O_WRONLY | flag, 0o600)
    if (result >= 0) os.close(result)
    if (result >= 0 || errnoName(result) !== 'EINVAL') return result >= 0 || !REFUSALS.has(errnoName(result))
  }
  return true
}

export function openFile(path: string): number {
  return checked(os.open(plain(path), os.O_RDONLY), 'open', path)
}

export function closeFile(descriptor: number): void {
  os.close(descriptor)
}
