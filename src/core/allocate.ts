/** Which address is tried next. Pure: what is taken is found out by whoever tries. */
import { CODE, Fault } from './fault.ts'
import { type Cidr, contains, formatIp, type Ip, lastOf, sameIp } from './ip.ts'
import { describeRange, type Range, type RangeSet } from './ranges.ts'

export interface Candidate {
  readonly ip: Ip
  readonly range: Range
}

/**
 * The addresses of a set in the order in which they are tried: round robin, from the one behind the last reserved
 * to that one itself, so that an address rests as long as possible before it comes again. Gateways are left out.
 */
export function* candidates(set: RangeSet, lastReserved: Ip | undefined): Generator<Candidate> {
  const start = lastReserved ? set.findIndex((range) => holds(range, lastReserved)) : -1
  const home = set[start]
  if (!home || !lastReserved) {
    for (const range of set) yield* span(range, range.first.value, range.last.value)
    return
  }
  yield* span(home, lastReserved.value + 1n, home.last.value)
  for (let i = 1; i < set.length; i++) {
    const range = set[(start + i) % set.length] as Range
    yield* span(range, range.first.value, range.last.value)
  }
  yield* span(home, home.first.value, lastReserved.value)
}

function* span(range: Range, from: bigint, to: bigint): Generator<Candidate> {
  for (let value = from; value <= to; value++) {
    const ip: Ip = { family: range.first.family, value }
    const excluded = range.exclude.find((cidr) => contains(cidr, ip))
    if (excluded) value = lastOf(excluded).value
    else if (!range.gateway || !sameIp(ip, range.gateway)) yield { ip, range }
  }
}

export function holds(range: Range, ip: Ip): boolean {
  return range.first.family === ip.family && range.first.value <= ip.value && ip.value <= range.last.value
}

/**
 * Matches asked-for addresses to sets: at most one a set, each in a range, none a gateway.
 * @returns for each set, the candidate that was asked for, or undefined where the next free one will do
 * @throws Fault 7 naming the address that no set can give
 */
export function matchRequested(sets: readonly RangeSet[], asked: readonly Ip[]): readonly (Candidate | undefined)[] {
  const rest = [...asked]
  const matched = sets.map((set) => {
    const index = rest.findIndex((ip) => set.some((range) => holds(range, ip)))
    const ip = rest[index]
    const range = ip && set.find((r) => holds(r, ip))
    if (!ip || !range) return undefined
    if (range.gateway && sameIp(range.gateway, ip)) {
      throw new Fault(CODE.invalidConfig, `address ${formatIp(ip)} can't be given`, 'it is the gateway of its range')
    }
    rest.splice(index, 1)
    return { ip, range }
  })
  const left = rest[0]
  if (!left) return matched
  const inSubnet = sets.flat().find((range) => contains(range.subnet, left))
  throw new Fault(
    CODE.invalidConfig,
    `address ${formatIp(left)} can't be given`,
    inSubnet
      ? `expected one address a range set, in ${sets.flat().map(describeRange).join(', ')}`
      : `it is in none of the ranges ${sets.flat().map(describeRange).join(', ')}`,
  )
}

/** How many addresses a set gives unasked: gateways and excluded ones left out. */
export function capacity(set: RangeSet): bigint {
  return set.reduce((sum, range) => {
    const excluded = range.exclude.reduce((count, cidr) => count + shared(range, cidr), 0n)
    const { gateway } = range
    const isLeftOut = gateway !== undefined && holds(range, gateway) && !isExcluded(range, gateway)
    return sum + range.last.value - range.first.value + 1n - excluded - (isLeftOut ? 1n : 0n)
  }, 0n)
}

/** Is this one of the addresses that a range gives only to who asks for it? */
export function isExcluded(range: Range, ip: Ip): boolean {
  return range.exclude.some((cidr) => contains(cidr, ip))
}

/** How many addresses of the range the prefix has. */
function shared(range: Range, cidr: Cidr): bigint {
  const [from, to] = [cidr.ip.value, lastOf(cidr).value]
  if (to < range.first.value || from > range.last.value) return 0n
  // Prefixes nest or are apart, ranges need not: what hangs over at either end is taken off.
  const before = from < range.first.value ? range.first.value - from : 0n
  const behind = to > range.last.value ? to - range.last.value : 0n
  return to - from + 1n - before - behind
}
