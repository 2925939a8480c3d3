/**
 * A note of who holds a store's lock: for the one who waits in vain, and for the one who comes after a crash. It is emptied
 * when the lock is given back, and the next holder writes over it. What it says of which lock is meant is for a crash alone: two
 * locks, made one right after the other, may have the same inode and the same time.
 */
import * as engine from '#engine'
import { isFileError } from '../engine/engine.ts'
import { inFolder, readIfThere, removeIfThere, statIfThere } from './files.ts'
import { RUN_FOLDER } from './index-files.ts'

/** Where the one who holds the lock of a store leaves its process ID. */
export function notePath(folder: string): string {
  return `${RUN_FOLDER}/holder${folder.replaceAll('/', '%')}`.slice(0, 250)
}

const lockPath = (folder: string) => `${folder}/lock.lock`

/** Process, its world of process IDs, and the lock itself: by its inode, and its time as long as it is not renewed. */
export function noteHolder(folder: string): void {
  const path = notePath(folder)
  try {
    const note = `${engine.processId()} ${world()} ${identify(folder)}\n`.padStart(100)
    try {
      engine.overwriteFile(path, note)
    } catch (error) {
      if (!isFileError(error, 'ENOENT')) throw error
      inFolder(RUN_FOLDER, () => engine.createFile(path, note, 0o600))
    }
  } catch {
    // Without the note the lock works all the same.
  }
}

/** To be done before the lock is given back: a note that outlived it would speak of the next one. */
export function clearHolder(folder: string): void {
  try {
    engine.overwriteFile(notePath(folder), '')
  } catch {
    // Without the note the lock works all the same.
  }
}

/** A process ID means nothing in another PID namespace. */
const world = () => engine.readLink('/proc/self/ns/pid')

function identify(folder: string): string {
  const lock = statIfThere(lockPath(folder))
  return lock ? `${lock.device}:${lock.inode}@${Math.floor(lock.modified)}` : 'none'
}

function readNote(folder: string): readonly string[] {
  return readIfThere(notePath(folder))?.trim().split(' ') ?? []
}

/** The process that holds the lock, and since when; undefined when there is no note, or it is of another lock. */
export function readHolder(folder: string): { readonly pid: string; readonly since: number } | undefined {
  const [pid = '', , which] = readNote(folder)
  const isOfThis = which === undefined || which.split('@')[0] === identify(folder).split('@')[0]
  const note = pid !== '' && isOfThis ? statIfThere(notePath(folder)) : undefined
  return note && { pid, since: note.modified }
}

/** `held by process 4711 (pontoon)`, as far as it is known. */
export function describeHolder(folder: string): string {
  const { pid = '' } = readHolder(folder) ?? {}
  // Not /proc/PID/comm, which is the name of a thread.
  const command = pid ? readIfThere(`/proc/${pid}/cmdline`)?.split('\0')[0] : undefined
  if (!pid) return `${lockPath(folder)} is held by an unknown process`
  return `${lockPath(folder)} is held by process ${pid} (${command || 'which has ended'})`
}

/** One that is nearly stale is left to those who take stale ones. In milliseconds. */
const YOUNG = 2_000

/**
 * Removes the lock of a process that has ended, instead of waiting for it to grow stale. Those who do this do it one
 * at a time, and the note goes before the lock: so none of them removes the lock of the next holder, who has not come
 * to write its own note.
 */
export function removeDeadLock(folder: string): void {
  const breaker = `${notePath(folder)}.break`
  try {
    if (!isDeadLock(folder)) return
    engine.createFile(breaker, '', 0o600)
  } catch {
    return // another one is at it, or was killed over it; then the lock grows stale
  }
  try {
    if (!isDeadLock(folder)) return
    removeIfThere(notePath(folder))
    engine.removeDirectory(lockPath(folder))
  } catch {
    // Then it grows stale.
  } finally {
    clearQuietly(breaker)
  }
}

function clearQuietly(path: string): void {
  try {
    removeIfThere(path)
  } catch {
    // /run has become read-only: the next lock of the dead grows stale
  }
}

function isDeadLock(folder: string): boolean {
  const [pid, where, which] = readNote(folder)
  const lock = statIfThere(lockPath(folder))
  if (!lock || !pid || which !== identify(folder) || where !== world()) return false
  return Math.abs(engine.now() - lock.modified) < YOUNG && hasEnded(pid)
}

/** Also true of one that has ended, and whose parent has not looked yet (proc(5): the letter behind the name). */
function hasEnded(pid: string): boolean {
  const state = readIfThere(`/proc/${pid}/stat`)
  return state === undefined || /\) [ZX] [^)]*$/.test(state)
}
