/** Files, by the synchronous half of node:fs: a plugin has nothing else to do meanwhile, and threads cost a start. */
import * as fs from 'node:fs'
import { FileError, type FileStat, isFileError, LARGEST } from '../engine.ts'

/** The errno's name in an error of Node's. */
export function codeOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ERR_INVALID_ARG_VALUE') return 'EINVAL' // a NUL in a path
  return typeof code === 'string' ? code : 'EIO'
}

/** Runs `action`, and tells its failure as a `FileError`. */
export function attempt<T>(operation: string, path: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw error instanceof FileError ? error : new FileError(codeOf(error), operation, path)
  }
}

export function readFile(path: string): string {
  return attempt('read', path, () => fs.readFileSync(path)).toString('utf8')
}

export function readIfThere(path: string): string | undefined {
  return ifThere(() => {
    const flags = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK
    const descriptor = attempt('read', path, () => fs.openSync(path, flags))
    try {
      return readAll(descriptor, path, LARGEST, false)
    } finally {
      closeFile(descriptor)
    }
  })
}

export function statIfThere(path: string): FileStat | undefined {
  return ifThere(() => stat(path))
}

/** undefined where there is nothing. */
function ifThere<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (isFileError(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

/** Reads to the end, as text; more than `limit` bytes is `EFBIG`. */
export function readAll(descriptor: number, path: string, limit: number, waits = true): string {
  const pieces: Buffer[] = []
  let length = 0
  for (;;) {
    const piece = Buffer.allocUnsafe(65536)
    const count = attempt('read', path, () =>
      patiently(() => fs.readSync(descriptor, piece, 0, piece.length, null), waits),
    )
    if (count === 0) return Buffer.concat(pieces).toString('utf8')
    pieces.push(piece.subarray(0, count))
    length += count
    if (length > limit) throw new FileError('EFBIG', 'read', path)
  }
}

/** Writes all of it, over short writes. */
export function writeAll(descriptor: number, content: string): void {
  writeBytes(descriptor, Buffer.from(content, 'utf8'))
}

function writeBytes(descriptor: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) {
    written += patiently(() => fs.writeSync(descriptor, bytes, written))
  }
}

/** Whoever gave us the descriptor may have made it non-blocking: then wait, since there is nothing else to do. */
function patiently(action: () => number, waits = true): number {
  for (;;) {
    try {
      return action()
    } catch (error) {
      const code = codeOf(error)
      if (code === 'EAGAIN' && waits) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
      else if (code !== 'EINTR') throw error
    }
  }
}

export function createFile(path: string, content: string, mode: number): void {
  const descriptor = attempt('create', path, () => fs.openSync(path, 'wx', mode))
  try {
    writeAndClose(descriptor, path, content)
  } catch (error) {
    fs.rmSync(path, { force: true })
    throw error
  }
}

export function overwriteFile(path: string, content: string): void {
  const flags = fs.constants.O_WRONLY | fs.constants.O_TRUNC
  const descriptor = attempt('write', path, () => fs.openSync(path, flags))
  writeAndClose(descriptor, path, content)
}

export function appendFile(path: string, content: string, mode: number): void {
  writeAndClose(
    attempt('write', path, () => fs.openSync(path, 'a', mode)),
    path,
    content,
  )
}

/** A network file system may tell of a failed write only when the file is closed. */
function writeAndClose(descriptor: number, path: string, content: string): void {
  try {
    attempt('write', path, () => writeAll(descriptor, content))
  } catch (error) {
    closeFile(descriptor)
    throw error
  }
  attempt('write', path, () => fs.closeSync(descriptor))
}

export function copyFile(from: string, to: string, mode: number): void {
  const source = attempt('open', from, () => fs.openSync(from, 'r'))
  try {
    const target = attempt('create', to, () => fs.openSync(to, 'wx', mode))
    try {
      copyBytes(source, from, target, to)
    } catch (error) {
      fs.rmSync(to, { force: true })
      throw error
    }
  } finally {
    closeFile(source)
  }
}

/** Closes the target. */
function copyBytes(source: number, from: string, target: number, to: string): void {
  const piece = Buffer.allocUnsafe(1 << 18)
  try {
    for (let count = 1; count !== 0; ) {
      count = attempt('read', from, () => patiently(() => fs.readSync(source, piece, 0, piece.length, null)))
      attempt('write', to, () => writeBytes(target, piece.subarray(0, count)))
    }
  } catch (error) {
    closeFile(target)
    throw error
  }
  attempt('write', to, () => fs.closeSync(target))
}

export function makeLink(target: string, path: string): void {
  attempt('link', path, () => fs.symlinkSync(target, path))
}

export function makeHardLink(from: string, path: string): void {
  attempt('link', path, () => fs.linkSync(from, path))
}

export function rename(from: string, to: string): void {
  attempt('rename', from, () => fs.renameSync(from, to))
}

export function removeFile(path: string): void {
  attempt('remove', path, () => fs.unlinkSync(path))
}

export function removeDirectory(path: string): void {
  attempt('remove directory', path, () => fs.rmdirSync(path))
}

export function makeDirectory(path: string): void {
  attempt('make directory', path, () => fs.mkdirSync(path, { recursive: true, mode: 0o755 }))
}

export function listDirectory(path: string): readonly string[] {
  return attempt('list', path, () => fs.readdirSync(path))
}

export function stat(path: string): FileStat {
  const found = attempt('stat', path, () => fs.statSync(path))
  return {
    kind: kindOf(found),
    device: found.dev,
    inode: found.ino,
    size: found.size,
    modified: Math.floor(found.mtimeMs),
  }
}

function kindOf(found: fs.Stats): FileStat['kind'] {
  if (found.isFile()) return 'file'
  if (found.isDirectory()) return 'directory'
  return found.isSymbolicLink() ? 'link' : 'other'
}

export function readLink(path: string): string {
  return attempt('read link', path, () => fs.readlinkSync(path))
}

export function canWrite(path: string): boolean {
  try {
    fs.accessSync(path, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

export function openFile(path: string): number {
  return attempt('open', path, () => fs.openSync(path, 'r'))
}

export function closeFile(descriptor: number): void {
  try {
    fs.closeSync(descriptor)
  } catch {
    // as close(2): there is nothing to be done about it
  }
}
