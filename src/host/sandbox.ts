/** The container's network namespace: opened once, so that nothing that happens to its path changes what is meant. */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import { type FileStat, isFileError } from '../engine/engine.ts'

export interface Sandbox {
  /** As the caller gave it. */
  readonly path: string
  /** `/proc/<pid>/fd/<n>`: good for children too, as long as this process lives. */
  readonly handle: string
  readonly device: number
  readonly inode: number
  /** The plugin's own namespace. */
  readonly isOwn: boolean
  close(): void
}

/**
 * Opens the namespace at this path. undefined when it is gone: there is no file, or one that is no namespace (a plain
 * file left over by an unmount, a directory). That a namespace is one of another type shows when it is entered.
 */
export function openSandbox(path: string): Sandbox | undefined {
  if (!path.startsWith('/')) return undefined
  const own = engine.stat('/proc/self/ns/net')
  const seen = statNamespace(path, own)
  if (!seen) return undefined
  let descriptor: number
  try {
    descriptor = engine.openFile(path)
  } catch (error) {
    if (isFileError(error, 'ENOENT', 'ENOTDIR', 'ENXIO', 'ELOOP')) return undefined
    throw new Fault(CODE.io, `can't open the network namespace ${path}`, String(error), { cause: error })
  }
  let isOpen = true
  return {
    path,
    handle: `/proc/${engine.processId()}/fd/${descriptor}`,
    device: seen.device,
    inode: seen.inode,
    isOwn: seen.device === own.device && seen.inode === own.inode,
    close() {
      if (isOpen) engine.closeFile(descriptor)
      isOpen = false
    },
  }
}

/** Does this path still lead to the namespace that was recorded? */
export function isSameNamespace(path: string, device: number, inode: number): boolean {
  const seen = statNamespace(path, engine.stat('/proc/self/ns/net'))
  return seen !== undefined && seen.device === device && seen.inode === inode
}

/** All namespaces are files of one kernel file system: what has another device number is none. */
function statNamespace(path: string, own: FileStat): FileStat | undefined {
  try {
    const seen = engine.statIfThere(path)
    return seen?.device === own.device ? seen : undefined
  } catch (error) {
    if (isFileError(error)) return undefined
    throw error
  }
}
