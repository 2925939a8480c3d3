/** The lock of a store: held around store work alone, waited for with a deadline, and taken from the dead. */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import { isFileError, LockTimeout } from '../engine/engine.ts'
import { statIfThere } from './files.ts'
import { clearHolder, describeHolder, noteHolder, removeDeadLock } from './holder.ts'

export interface LockedStore {
  readonly folder: string
  readonly isLocked: true
}

/** Milliseconds to wait for the lock, and after which a holder that shows no sign of life is taken for dead. */
const WAIT = 20_000
const STALE = 3_000

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
  const release = await orFault(folder, () => (make ? lockOrMake(folder) : lockOverDead(folder)))
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

async function lockOrMake(folder: string): Promise<() => void> {
  try {
    return await lockOverDead(folder)
  } catch (error) {
    if (!isFileError(error, 'ENOENT')) throw error
    engine.makeDirectory(folder)
    return lockOverDead(folder)
  }
}

/** Milliseconds between looks at whether the holder lives. */
const LOOK = 40

/** Waits for the lock; when its holder has died, or does so meanwhile, not longer than it takes to notice. */
async function lockOverDead(folder: string): Promise<() => void> {
  let isWaiting = true
  const look = () => {
    if (!isWaiting) return
    removeDeadLock(folder)
    void engine.sleep(LOOK).then(look)
  }
  if (statIfThere(`${folder}/lock.lock`)) look()
  try {
    return await engine.lock(`${folder}/lock`, { wait: WAIT, stale: STALE })
  } finally {
    isWaiting = false
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
    const remedy = `waited ${WAIT / 1000} s; ${describeHolder(folder)}; try again later`
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
