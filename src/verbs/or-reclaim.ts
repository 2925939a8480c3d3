/** When what the dead hold is freed: first of a boot, and when addresses run out. How it is done is loaded only then. */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import { bootId } from '../host/index-files.ts'
import { readBootNote } from '../host/store.ts'
import type { Call } from './call.ts'
import type { Sight } from './reclaim.ts'

/**
 * Does work that reserves addresses; first of a boot, and again when there was none free, with what the dead held.
 * What can't be reclaimed fails no ADD that finds an address all the same.
 */
export async function orReclaim<T>(call: Call, work: () => Promise<T>, sight: Sight = 'bridge'): Promise<T> {
  if (readBootNote(call.storeFolder) !== bootId()) await bestEffort(call, sight)
  try {
    return await work()
  } catch (error) {
    const isFull = error instanceof Fault && (error.code === CODE.exhausted || error.code === CODE.conflict)
    if (!isFull || (await bestEffort(call, sight)) === 0) throw error
    return work()
  }
}

async function bestEffort(call: Call, sight: Sight): Promise<number> {
  try {
    return await (await import('./reclaim.ts')).reclaim(call, sight, call.owner)
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    engine.writeStderr(`pontoon: could not reclaim what the dead hold: ${text}\n`)
    return 0
  }
}
