/** Address ranges of host-local: what the configuration says, checked and completed. */
import { CODE, Fault } from './fault.ts'
import {
  type Cidr,
  contains,
  formatCidr,
  formatIp,
  type Ip,
  lastOf,
  networkOf,
  parseCidr,
  parseIp,
  plus,
  sameIp,
  widthOf,
} from './ip.ts'

/** A range as it is written, before it is checked. */
export interface RangeText {
  readonly subnet: string
  readonly rangeStart?: string | undefined
  readonly rangeEnd?: string | undefined
  readonly gateway?: string | undefined
  readonly exclude?: readonly string[] | undefined
}

export interface Range {
  readonly subnet: Cidr
  readonly first: Ip
  readonly last: Ip
  /** Absent for a /32 or /128 that names none. */
  readonly gateway: Ip | undefined
  /** Given only to who asks for them. */
  readonly exclude: readonly Cidr[]
}

/** One address is given out of each set. */
export type RangeSet = readonly Range[]

/**
 * Checks and completes all range sets, with the reference's defaults: the gateway is the first address of the
 * subnet, the range goes from the first address to the last (IPv4: without broadcast). A /31 or /127 uses both
 * addresses (RFC 3021, RFC 6164), a /32 or /128 its only one. A gateway outside the subnet is legal.
 * @throws Fault 7 naming the range by its place, `ipam.ranges[0][1]`
 */
export function parseRangeSets(texts: readonly (readonly RangeText[])[]): readonly RangeSet[] {
  const sets = texts.map((set, i) => set.map((text, j) => parseRange(text, `ipam.ranges[${i}][${j}]`)))
  sets.forEach((set, i) => {
    if (set.length === 0) throw bad(`ipam.ranges[${i}]`, 'a range set needs at least one range', 'it is empty')
    const family = set[0]?.subnet.ip.family
    set.forEach((range, j) => {
      if (range.subnet.ip.family !== family) {
        throw bad(`ipam.ranges[${i}][${j}]`, 'all ranges of a set are of one family', formatCidr(range.subnet))
      }
    })
  })
  refuseOverlaps(sets)
  return sets
}

function parseRange(text: RangeText, where: string): Range {
  const subnet = parseCidr(text.subnet)
  if (!subnet) throw bad(`${where}.subnet`, 'expected an address and a prefix length', text.subnet)
  const network = networkOf(subnet)
  if (!sameIp(network.ip, subnet.ip)) {
    throw bad(`${where}.subnet`, `expected no host bits, as in ${formatCidr(network)}`, text.subnet)
  }
  const spare = widthOf(subnet.ip.family) - subnet.prefix
  const lowest = spare < 2 ? subnet.ip : plus(subnet.ip, 1n)
  const highest = subnet.ip.family === 4 && spare >= 2 ? plus(lastOf(subnet), -1n) : lastOf(subnet)
  const first = text.rangeStart ? parseBound(text.rangeStart, subnet, `${where}.rangeStart`) : lowest
  const last = text.rangeEnd ? parseBound(text.rangeEnd, subnet, `${where}.rangeEnd`) : highest
  if (first.value > last.value) {
    throw bad(where, 'expected rangeStart not behind rangeEnd', `${formatIp(first)} to ${formatIp(last)}`)
  }
  const gateway = text.gateway ? parseIp(text.gateway) : spare > 0 ? lowest : undefined
  if (text.gateway && gateway?.family !== subnet.ip.family) {
    throw bad(`${where}.gateway`, `expected an IPv${subnet.ip.family} address like the subnet`, text.gateway)
  }
  const excluded = (text.exclude ?? []).map((entry, i) => parseExcluded(entry, subnet, `${where}.exclude[${i}]`))
  return { subnet, first, last, gateway, exclude: withoutNested(excluded) }
}

/** So that no address is counted twice. */
function withoutNested(cidrs: readonly Cidr[]): readonly Cidr[] {
  const isIn = (a: Cidr, b: Cidr) => b.prefix <= a.prefix && contains(b, a.ip)
  return cidrs.filter(
    (cidr, i) => !cidrs.some((other, j) => j !== i && isIn(cidr, other) && (!isIn(other, cidr) || j < i)),
  )
}

/** A prefix, or a single address. */
function parseExcluded(text: string, subnet: Cidr, where: string): Cidr {
  const ip = parseIp(text)
  const cidr = ip ? { ip, prefix: widthOf(ip.family) } : parseCidr(text)
  if (cidr?.ip.family === subnet.ip.family) return networkOf(cidr)
  throw bad(where, `expected an IPv${subnet.ip.family} address or prefix`, text)
}

function parseBound(text: string, subnet: Cidr, where: string): Ip {
  const ip = parseIp(text)
  if (ip && contains(subnet, ip)) return ip
  throw bad(where, `expected an address in ${formatCidr(subnet)}`, text)
}

function refuseOverlaps(sets: readonly RangeSet[]): void {
  const all = sets.flatMap((set, i) => set.map((range, j) => ({ range, where: `ipam.ranges[${i}][${j}]` })))
  all.forEach((a, i) => {
    for (const b of all.slice(i + 1)) {
      if (a.range.first.family !== b.range.first.family) continue
      if (a.range.first.value > b.range.last.value || b.range.first.value > a.range.last.value) continue
      throw bad(b.where, `expected no address that ${a.where} has too`, describeRange(b.range))
    }
  })
}

/** `10.9.0.1-10.9.0.254` */
export function describeRange(range: Range): string {
  return `${formatIp(range.first)}-${formatIp(range.last)}`
}

/** What is legal but most likely not meant: an IPv4 network or broadcast address that may be given out. */
export function warnRanges(sets: readonly RangeSet[]): readonly string[] {
  return sets.flat().flatMap((range) => {
    const spare = widthOf(range.subnet.ip.family) - range.subnet.prefix
    if (range.subnet.ip.family === 6 || spare < 2) return []
    return [range.subnet.ip, lastOf(range.subnet)]
      .filter((ip) => ip.value >= range.first.value && ip.value <= range.last.value)
      .map((ip) => `range ${describeRange(range)} holds ${formatIp(ip)}, which is no host's address`)
  })
}

function bad(where: string, expected: string, found: string): Fault {
  return new Fault(CODE.invalidConfig, `invalid ${where}`, `${expected}; found ${JSON.stringify(found)}`)
}
