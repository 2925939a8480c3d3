/**
 * The protocol of proper-lockfile: the lock is the directory `<path>.lock`, its holder shows life by a fresh
 * modification time, and one without a sign of life for `stale` milliseconds is removed by whoever waits.
 */
import * as os from 'qjs:os'
import { FileError, type LockOptions, LockTimeout } from '../engine.ts'
import { errnoName, plain } from './errno.ts'

export async function lock(path: string, options: LockOptions): Promise<() => void> {
  const directory = plain(`${path}.lock`)
  const deadline = os.now() + options.wait * 1000
  for (let delay = 1; !take(directory, options.stale); delay = Math.min(delay * 1.5, 25)) {
    const left = (deadline - os.now()) / 1000
    if (left <= 0) throw new LockTimeout(path)
    // Jitter, or those who came together would go on colliding.
    const pause = Math.min(left, delay * (0.5 + Math.random()))
    await new Promise<void>((resolve) => {
      os.setTimeout(resolve, pause)
    })
  }
  return holder(directory, options.stale)
}

function take(directory: string, stale: number): boolean {
  const made = os.mkdir(directory, 0o755)
  if (made === 0) return true
  if (errnoName(made) !== 'EEXIST') throw new FileError(errnoName(made), 'lock', directory)
  const found = look(directory)
  if (!found || found.modified >= Date.now() - stale) return false
  os.remove(`${directory}/`)
  return os.mkdir(directory, 0o755) === 0
}

function look(directory: string): { inode: number; modified: number } | undefined {
  const found = native.stat(directory, true)
  return typeof found === 'number' ? undefined : { inode: found[2], modified: found[4] }
}

/** Keeps the lock alive while the event loop runs, and answers with the function that gives it back. */
function holder(directory: string, stale: number): () => void {
  const taken = look(directory)
  let modified = taken?.modified
  const isOurs = (): boolean => {
    const found = look(directory)
    return found !== undefined && found.inode === taken?.inode && found.modified === modified
  }
  let timer: number | undefined
  const refresh = (): void => {
    timer = undefined
    if (!isOurs()) return
    const now = Date.now()
    if (os.utimes(directory, now, now) === 0) modified = look(directory)?.modified
    timer = os.setTimeout(refresh, stale / 2)
  }
  timer = os.setTimeout(refresh, stale / 2)

  let released = false
  return () => {
    if (released) return
    released = true
    if (timer !== undefined) os.clearTimeout(timer)
    // Someone may have taken us for dead: then what is there now is theirs.
    if (isOurs()) os.remove(`${directory}/`)
  }
}
