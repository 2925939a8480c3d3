/** When what the dead hold is freed: first of a boot, and when addresses run out. How it is done is loaded only then. */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import { LockTimeout } from '../engine/engine.ts'
import { bootId } from '../host/index-files.ts'
import { readBootNote } from '../host/store.ts'
import type { Call } from './call.ts'
import type { Reclaimed, Sight } from './forgotten.ts'

export interface Before {
  /** Is it the first of a boot that reserves in this store? */
  readonly isFirst: boolean
  /** The addresses that the attachment has in the store, where it was looked through. */
  readonly own: readonly string[] | undefined
}

/**
 * Does work that reserves addresses; first of a boot, and again when there was none free, with what the dead held.
 * What can't be reclaimed fails no ADD that finds an address all the same.
 * @param work is told what was found out about the store
 * @throws Fault 11 when the lock is not to be had, after one wait
 */
export async function orReclaim<T>(
  call: Call,
  work: (before: Before) => Promise<T>,
  sight: Sight = 'bridge',
): Promise<T> {
  const isFirst = readBootNote(call.storeFolder) !== bootId()
  const own = isFirst ? (await bestEffort(call, sight, false))?.own : undefined
  try {
    return await work({ isFirst, own })
  } catch (error) {
    const isFull = error instanceof Fault && (error.code === CODE.exhausted || error.code === CODE.conflict)
    const now = isFull ? await bestEffort(call, sight, true) : undefined
    if (!now || now.freed === 0) throw error
    return work({ isFirst, own })
  }
}

async function bestEffort(call: Call, sight: Sight, thorough: boolean): Promise<Reclaimed | undefined> {
  try {
    return await (await import('./reclaim.ts')).reclaim(call, { sight, spared: call.owner, thorough })
  } catch (error) {
    // Who has waited in vain for the lock need not do so a second time: the work wants it, too.
    if (error instanceof Fault && error.cause instanceof LockTimeout) throw error
    const text = error instanceof Error ? error.message : String(error)
    engine.writeStderr(`pontoon: could not reclaim what the dead hold: ${text}\n`)
    return undefined
  }
}
