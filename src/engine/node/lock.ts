/** The lock, by proper-lockfile. It retries with long pauses only, so the waiting is done here. */
import { constants, getPriority, setPriority } from 'node:os'
import { FileError, type LockOptions, LockTimeout } from '../engine.ts'
import { codeOf } from './files.ts'
import { loadProperLockfile } from './lazy.ts'

const FIRST = constants.priority.PRIORITY_HIGHEST

export async function lock(path: string, options: LockOptions): Promise<() => void> {
  const { lockSync } = loadProperLockfile()
  const deadline = performance.now() + options.wait
  for (let delay = 1; ; delay = Math.min(delay * 1.5, 25)) {
    try {
      // Who took us for dead and took the lock over keeps it: that is all there is to do about it here.
      const release = lockSync(path, { realpath: false, stale: options.stale, onCompromised: () => {} })
      return once(release, hurry())
    } catch (error) {
      if (codeOf(error) !== 'ELOCKED') throw new FileError(codeOf(error), 'lock', `${path}.lock`)
    }
    const left = deadline - performance.now()
    if (left <= 0) throw new LockTimeout(path)
    // Jitter, or those who came together would go on colliding.
    const pause = Math.min(left, delay * (0.5 + Math.random()))
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

/**
 * Lets this process run before others while it holds the lock: where a hundred of them want two processors, the one that
 * all wait for would wait for its turn among them. Answers with what ends it.
 */
function hurry(): () => void {
  const usual = getPriority()
  const turn = (priority: number): void => {
    try {
      setPriority(priority)
    } catch {
      // not permitted: then it takes its turn
    }
  }
  turn(FIRST)
  return () => turn(usual)
}

/** Giving back what is ours no longer, or is gone, is no error of the caller's. */
function once(release: () => void, rest: () => void): () => void {
  let released = false
  return () => {
    if (released) return
    released = true
    try {
      release()
    } catch {
      // taken over by someone else, or removed
    } finally {
      rest()
    }
  }
}
