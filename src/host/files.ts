/** Files that are whole or absent, and reads that take absence for an answer. */
import * as engine from '#engine'
import { isFileError } from '../engine/engine.ts'

export { readIfThere, statIfThere } from '#engine'

/** The names in a directory; none when there is no directory. */
export function listIfThere(path: string): readonly string[] {
  return ifThere(() => engine.listDirectory(path)) ?? []
}

/** Removes a file. True when it was there. */
export function removeIfThere(path: string): boolean {
  const removed = ifThere(() => {
    engine.removeFile(path)
    return true
  })
  return removed ?? false
}

/** Where a file is written before it is put in place. One that a crash left is written over, or goes with the file. */
export function draftOf(path: string): string {
  const slash = path.lastIndexOf('/') + 1
  return `${path.slice(0, slash)}.${path.slice(slash)}`
}

/** Creates a file. What is there of its name is removed: hardly ever is there anything, so it is not looked for first. */
export function createAnew(path: string, content: string, mode: number): void {
  try {
    engine.createFile(path, content, mode)
  } catch (error) {
    if (!isFileError(error, 'EEXIST')) throw error
    removeIfThere(path)
    engine.createFile(path, content, mode)
  }
}

/** Does work in a folder, which is made when it turns out to be missing. */
export function inFolder<T>(folder: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!isFileError(error, 'ENOENT')) throw error
    engine.makeDirectory(folder)
    return work()
  }
}

/**
 * Puts a whole file in place, over an older one: a reader sees the one or the other, never half of it. One process
 * at a time.
 */
export function replaceFile(path: string, content: string, mode: number): void {
  const draft = draftOf(path)
  try {
    createAnew(draft, content, mode)
    engine.rename(draft, path)
  } catch (error) {
    try {
      removeIfThere(draft)
    } catch {
      // The first error is the one to tell.
    }
    throw error
  }
}

function ifThere<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isFileError(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
