/**
 * The executable and its names. Each appears in one step, by a rename: who calls it meanwhile gets the old or the new,
 * and what runs goes on with the file it was started from.
 */
import * as engine from '#engine'
import { isFileError } from '../../engine/engine.ts'
import { draftOf as hidden, removeIfThere, statIfThere } from '../../host/files.ts'

export const EXECUTABLE = 'pontoon'
const SELF = '/proc/self/exe'
const MODE = 0o755

export const backupOf = (path: string): string => `${path}.before-pontoon`
/** Runtimes read whatever ends in .conflist, hidden or not. */
const draftOf = (path: string): string => `${hidden(path)}.draft`

/** Copies the running executable to this path. False when it is the very file that runs. */
export function placeExecutable(path: string): boolean {
  const self = engine.stat(SELF)
  const there = statIfThere(path)
  if (there && there.device === self.device && there.inode === self.inode) return false
  place(path, (draft) => engine.copyFile(SELF, draft, MODE))
  return true
}

/**
 * Makes a name lead to the executable. What it stood for is kept as the backup, in place of an older one.
 * @returns what became of it
 */
export function placeName(folder: string, name: string): 'there' | 'made' | 'made, with a backup' {
  const path = `${folder}/${name}`
  if (isOurs(path)) return 'there'
  const kept = keep(path)
  place(path, (draft) => engine.makeLink(EXECUTABLE, draft))
  return kept ? 'made, with a backup' : 'made'
}

/** Takes a name away, or gives it back to what had it before. False when it is not ours any more. */
export function removeName(folder: string, name: string): boolean {
  const path = `${folder}/${name}`
  removeDrafts(path)
  // An installation that was killed in between had kept it, and not come to take its name.
  if (isKept(path)) return removeIfThere(backupOf(path))
  if (!isOurs(path) && isThere(path)) return false
  if (!putBack(path)) removeIfThere(path)
  return true
}

/** Keeps what is at this path, as it is: by another name of the same file, where the file system has such. */
export function keep(path: string): boolean {
  if (!isThere(path)) return false
  if (!isKept(path)) place(backupOf(path), (draft) => linkOrCopy(path, draft))
  return true
}

function linkOrCopy(path: string, draft: string): void {
  try {
    engine.makeHardLink(path, draft)
  } catch (error) {
    if (!isFileError(error)) throw error
    const target = linkAt(path)
    if (target === undefined) engine.copyFile(path, draft, MODE)
    else engine.makeLink(target, draft)
  }
}

/** Are a path and its backup one file, or links to the same? */
function isKept(path: string): boolean {
  const link = linkAt(path)
  const keptLink = linkAt(backupOf(path))
  if (link !== undefined || keptLink !== undefined) return link === keptLink
  const there = statIfThere(path)
  const kept = statIfThere(backupOf(path))
  return there !== undefined && there.device === kept?.device && there.inode === kept.inode
}

/** Renames the backup over the path. False when there is none. */
export function putBack(path: string): boolean {
  if (!isThere(backupOf(path))) return false
  engine.rename(backupOf(path), path)
  return true
}

/** Does this name lead to the executable? */
export function isOurs(path: string): boolean {
  return linkAt(path) === EXECUTABLE
}

function isThere(path: string): boolean {
  return linkAt(path) !== undefined || statIfThere(path) !== undefined
}

/** Where a symbolic link leads, even to nothing; undefined for all else. */
function linkAt(path: string): string | undefined {
  try {
    return engine.readLink(path)
  } catch (error) {
    if (isFileError(error, 'EINVAL', 'ENOENT')) return undefined
    throw error
  }
}

/** Writes a file, over an older one. */
export function placeText(path: string, content: string): void {
  place(path, (draft) => engine.createFile(draft, content, 0o644))
}

/** Removes what an installation leaves of a path that is killed. */
export function removeDrafts(path: string): void {
  removeIfThere(draftOf(path))
  removeIfThere(draftOf(backupOf(path)))
}

function place(path: string, make: (draft: string) => void): void {
  const draft = draftOf(path)
  removeIfThere(draft)
  try {
    make(draft)
    engine.rename(draft, path)
  } catch (error) {
    removeIfThere(draft)
    throw error
  }
}
