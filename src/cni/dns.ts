/** Name servers, which a plugin passes on in its result. */
import type { RawDns } from './netconf-schema.ts'

export interface Dns {
  readonly nameservers: readonly string[]
  readonly domain: string
  readonly search: readonly string[]
  readonly options: readonly string[]
}

/** undefined when nothing is said. */
export function toDns(raw: RawDns | undefined): Dns | undefined {
  const dns = { nameservers: [], domain: '', search: [], options: [], ...raw }
  const isEmpty = dns.domain === '' && [dns.nameservers, dns.search, dns.options].every((list) => list.length === 0)
  return isEmpty ? undefined : dns
}
