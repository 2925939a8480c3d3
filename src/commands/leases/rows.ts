/** Who has which address, and how full the ranges are: from the store and the index. Pure. */
import { capacity, holds, isExcluded } from '../../core/allocate.ts'
import { formatCidr, type Ip, parseIp } from '../../core/ip.ts'
import { describeRange, type RangeSet } from '../../core/ranges.ts'
import type { IndexEntry } from '../../host/index-files.ts'
import type { Lease } from '../../host/leases.ts'
import { withoutPrefix } from '../../verbs/victims.ts'

/** `unknown`: the index has nothing of it, as with pods that another plugin has made. */
export type State = 'live' | 'dead' | 'unknown'

export interface LeaseRow {
  readonly address: string
  readonly containerID: string
  readonly ifname: string
  /** `namespace/name`; '' when it is not known, as are the others. */
  readonly pod: string
  readonly netns: string
  readonly hostVeth: string
  /** Milliseconds since 1970. */
  readonly since: number | undefined
  readonly state: State
  /** False for an address that a pod uses, but that the store has lost. */
  readonly reserved: boolean
}

export interface RangeUse {
  /** Its place: range set and range. */
  readonly set: number
  readonly range: string
  readonly subnet: string
  readonly capacity: number
  readonly used: number
}

export interface Known {
  readonly entry: IndexEntry
  readonly isDead: boolean
}

export function rowsOf(
  leases: readonly Lease[],
  known: readonly Known[],
  reservedAt: (address: string) => number | undefined,
): readonly LeaseRow[] {
  const byAddress = new Map<string, Known>()
  for (const one of known) for (const cidr of one.entry.addresses) byAddress.set(withoutPrefix(cidr), one)
  const stored = leases.map(({ address, owner }): LeaseRow => {
    const found = byAddress.get(address)
    const mine = found && owner && found.entry.containerID === owner.containerID ? found : undefined
    byAddress.delete(address)
    const { containerID = '', ifname = '' } = owner ?? {}
    return { address, containerID, ifname, ...partOf(mine, reservedAt(address)), reserved: true }
  })
  const lost = [...byAddress].map(([address, one]): LeaseRow => {
    const { containerID, ifname } = one.entry
    return { address, containerID, ifname, ...partOf(one, undefined), reserved: false }
  })
  return [...stored, ...lost].sort((a, b) => compareAddresses(a.address, b.address))
}

function partOf(one: Known | undefined, reserved: number | undefined) {
  if (!one) return { pod: '', netns: '', hostVeth: '', since: reserved, state: 'unknown' as const }
  const { pod = '', netns, hostVeth, time } = one.entry
  return { pod, netns, hostVeth, since: time, state: one.isDead ? ('dead' as const) : ('live' as const) }
}

export function compareAddresses(a: string, b: string): number {
  const [one, other] = [parseIp(a), parseIp(b)]
  if (!one || !other) return a < b ? -1 : 1
  if (one.family !== other.family) return one.family - other.family
  return one.value < other.value ? -1 : one.value > other.value ? 1 : 0
}

/** How many addresses of each range are reserved. */
export function usage(sets: readonly RangeSet[], addresses: readonly string[]): readonly RangeUse[] {
  const taken = addresses.map(parseIp).filter((ip): ip is Ip => ip !== undefined)
  return sets.flatMap((set, i) =>
    set.map((range) => ({
      set: i,
      range: describeRange(range),
      subnet: formatCidr(range.subnet),
      capacity: Number(capacity([range])),
      used: taken.filter((ip) => holds(range, ip) && !isExcluded(range, ip)).length,
    })),
  )
}
