/** Who holds the lock of a store, and for how long. */
import * as engine from '#engine'
import { readIfThere, statIfThere } from '../../host/files.ts'
import { readHolder } from '../../host/holder.ts'
import type { LockFact } from './facts.ts'

/** A holder that lives touches its lock every second or so. */
const STALE = 3000

export function readLock(storeFolder: string): LockFact | undefined {
  const path = `${storeFolder}/lock.lock`
  const lock = statIfThere(path)
  if (!lock) return undefined
  const holder = readHolder(storeFolder)
  const pid = Number(holder?.pid ?? 0)
  const now = engine.now()
  return {
    path,
    isFolder: lock.kind === 'directory',
    age: now - Math.min(holder?.since ?? lock.modified, lock.modified),
    isStale: now - lock.modified > STALE,
    pid,
    command: pid > 0 ? (readIfThere(`/proc/${pid}/cmdline`) ?? '').split('\0').join(' ').trim() : '',
  }
}
