/** The VLANs of a trunk port. */
import { CODE, Fault } from '../core/fault.ts'

export interface VlanRange {
  readonly min: number
  readonly max: number
}

interface Item {
  readonly minID?: number
  readonly maxID?: number
  readonly id?: number
}

interface Options {
  readonly of: string
  readonly tolerate: (path: string) => boolean
}

/**
 * The union of all items, sorted; an item may hold a range, a single VLAN, both or neither.
 * @throws Fault code 7 when an item has one end of a range without the other, or the ends the wrong way round
 */
export function mergeVlans(items: readonly Item[], { of, tolerate }: Options): VlanRange[] {
  const ranges: VlanRange[] = []
  for (const [index, { minID, maxID, id }] of items.entries()) {
    if (id !== undefined) ranges.push({ min: id, max: id })
    if (minID === undefined && maxID === undefined) continue
    if (minID !== undefined && maxID !== undefined && minID <= maxID) ranges.push({ min: minID, max: maxID })
    else if (!tolerate('vlanTrunk')) {
      const found = `found minID ${minID ?? 'missing'}, maxID ${maxID ?? 'missing'}`
      throw new Fault(
        CODE.invalidConfig,
        `${of}: vlanTrunk[${index}]: expected both minID and maxID, the first not above the second`,
        found,
      )
    }
  }
  const merged: VlanRange[] = []
  for (const range of ranges.sort((a, b) => a.min - b.min)) {
    const last = merged.at(-1)
    if (last && range.min <= last.max + 1) {
      merged[merged.length - 1] = { min: last.min, max: Math.max(last.max, range.max) }
    } else merged.push(range)
  }
  return merged
}
