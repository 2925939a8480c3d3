/** IP addresses and prefixes as numbers, and their one canonical spelling (RFC 5952 for IPv6, as Go prints it). */
import type { Address6 } from 'ip-address'

export type Family = 4 | 6

export interface Ip {
  readonly family: Family
  readonly value: bigint
}

/** An address with a prefix length: `10.9.0.2/24`. The address may have host bits. */
export interface Cidr {
  readonly ip: Ip
  readonly prefix: number
}

/** The library that reads IPv6. To load it takes as long as the rest of the start: a node without IPv6 does without. */
let library: { readonly Address6: typeof Address6 } | undefined

/** Has to be done before the first IPv6 address is read. */
export async function loadIpv6(): Promise<void> {
  library ??= await import('./ipv6.ts')
}

/** True when an IPv6 address may stand in this text; every spelling has `::`, or six groups with a colon behind. */
export function mentionsIpv6(text: string): boolean {
  // A colon may be written as \u003a: who writes a character of that row so is not held against more.
  if (text.includes('::') || text.includes('\\u003')) return true
  // An expression that is held against every character of a long text costs more than all that follows.
  let run = 0
  for (let last = -9, at = text.indexOf(':'); at >= 0; last = at, at = text.indexOf(':', at + 1)) {
    run = at - last <= 5 ? run + 1 : 1
    if (run === 6) return /(?:[0-9a-f]{1,4}:){6}/i.test(text)
  }
  return false
}

/** Bits of an address of this family. */
export function widthOf(family: Family): number {
  return family === 4 ? 32 : 128
}

const MAPPED = 0xffffn << 32n

/**
 * Parses an address without prefix or zone; an IPv4-mapped IPv6 address is the IPv4 one, as in Go's net.ParseIP.
 * IPv6 is understood once `loadIpv6` has been called.
 */
export function parseIp(text: string): Ip | undefined {
  if (text.includes('/') || text.includes('%')) return undefined
  if (!text.includes(':')) return parseIpv4(text)
  try {
    if (!library) return undefined
    const value = new library.Address6(text).bigInt()
    return value >> 32n === MAPPED >> 32n ? { family: 4, value: value & 0xffffffffn } : { family: 6, value }
  } catch {
    return undefined
  }
}

/** Four decimal numbers without leading zeros (RFC 6943, section 3.1.1: others read them as octal). */
function parseIpv4(text: string): Ip | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  let value = 0
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined
    value = value * 256 + Number(part)
  }
  return { family: 4, value: BigInt(value) }
}

export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/')
  const ip = slash < 0 ? undefined : parseIp(text.slice(0, slash))
  const digits = text.slice(slash + 1)
  if (!ip || !/^\d{1,3}$/.test(digits)) return undefined
  const prefix = Number(digits)
  return prefix <= widthOf(ip.family) ? { ip, prefix } : undefined
}

export function formatIp(ip: Ip): string {
  if (ip.family === 4) {
    const n = Number(ip.value)
    return `${n >>> 24}.${(n >>> 16) & 255}.${(n >>> 8) & 255}.${n & 255}`
  }
  if (!library) throw new Error('IPv6 is not loaded')
  return library.Address6.fromBigInt(ip.value).correctForm()
}

/** `10.9.0.2` of `10.9.0.2/24`, as text: nothing is read, so IPv6 need not be loaded. */
export function withoutPrefix(cidr: string): string {
  return cidr.split('/')[0] ?? ''
}

export function formatCidr(cidr: Cidr): string {
  return `${formatIp(cidr.ip)}/${cidr.prefix}`
}

function hostMask(cidr: Cidr): bigint {
  return (1n << BigInt(widthOf(cidr.ip.family) - cidr.prefix)) - 1n
}

/** The prefix itself, host bits cleared. */
export function networkOf(cidr: Cidr): Cidr {
  return { ip: { family: cidr.ip.family, value: cidr.ip.value & ~hostMask(cidr) }, prefix: cidr.prefix }
}

/** The last address of the prefix (IPv4: its broadcast address). */
export function lastOf(cidr: Cidr): Ip {
  return { family: cidr.ip.family, value: cidr.ip.value | hostMask(cidr) }
}

export function contains(cidr: Cidr, ip: Ip): boolean {
  return cidr.ip.family === ip.family && networkOf(cidr).ip.value === (ip.value & ~hostMask(cidr))
}

/** True when the two prefixes share an address. */
export function overlaps(a: Cidr, b: Cidr): boolean {
  return contains(a, b.ip) || contains(b, a.ip)
}

export function sameIp(a: Ip, b: Ip): boolean {
  return a.family === b.family && a.value === b.value
}

export function plus(ip: Ip, n: bigint): Ip {
  return { family: ip.family, value: ip.value + n }
}
