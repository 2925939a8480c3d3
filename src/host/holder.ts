/** A note of who holds a store's lock, for the one who waits in vain. It decides nothing. */
import * as engine from '#engine'
import { isFileError } from '../engine/engine.ts'
import { readIfThere, removeIfThere } from './files.ts'
import { RUN_FOLDER } from './index-files.ts'

function notePath(folder: string): string {
  return `${RUN_FOLDER}/holder${folder.replaceAll('/', '%')}`.slice(0, 250)
}

export function noteHolder(folder: string): void {
  const path = notePath(folder)
  const note = `${engine.processId()}\n`.padStart(12)
  try {
    try {
      engine.overwriteFile(path, note)
    } catch (error) {
      if (!isFileError(error, 'ENOENT')) throw error
      engine.makeDirectory(RUN_FOLDER)
      engine.createFile(path, note, 0o600)
    }
  } catch {
    // Without the note the lock works all the same.
  }
}

export function clearHolder(folder: string): void {
  try {
    removeIfThere(notePath(folder))
  } catch {
    // The next holder writes over it.
  }
}

/** `held by process 4711 (pontoon)`, as far as it is known. */
export function readHolder(folder: string): string {
  const pid = readIfThere(notePath(folder))?.trim() ?? ''
  // Not /proc/PID/comm, which is the name of a thread.
  const command = pid ? readIfThere(`/proc/${pid}/cmdline`)?.split('\0')[0] : undefined
  if (!pid) return `${folder}/lock.lock is held by an unknown process`
  return `${folder}/lock.lock is held by process ${pid} (${command || 'which has ended'})`
}
