/** Whether a reservation could be written: only trying it tells of a full disk, of inodes, of quotas. */
import * as engine from '#engine'
import { isFileError } from '../engine/engine.ts'
import { removeIfThere } from './files.ts'

/** No address, and of no network: no reader of a store or of the index takes it for one. */
const PROBE = '.pontoon.status'
/** As long as what a reservation or an index entry holds. */
const CONTENT = '-'.repeat(512)
const TRIES = 5

/**
 * Makes a file in this folder, and removes it. Others may do so at once, and one that was killed may have left its own:
 * that is written over, and goes.
 * @throws FileError when nothing can be written
 */
export function probeFolder(folder: string): void {
  const path = `${folder}/${PROBE}`
  try {
    write(path)
  } finally {
    try {
      removeIfThere(path)
    } catch {
      // What can't be removed is written over the next time; what is wrong shows when it is written.
    }
  }
}

function write(path: string): void {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    try {
      engine.createFile(path, CONTENT, 0o600)
      return
    } catch (error) {
      if (!isFileError(error, 'EEXIST')) throw error
    }
    try {
      engine.overwriteFile(path, CONTENT)
      return
    } catch (error) {
      // Another one has removed it meanwhile.
      if (!isFileError(error, 'ENOENT')) throw error
    }
  }
}
