/** The result of an ADD: one form inside, the forms of all specification versions outside. */

import { CODE, Fault } from '../core/fault.ts'
import { conform, isObject, type JsonObject, memberOf } from './conform.ts'
import { type Dns, toDns } from './dns.ts'
import { type RouteConf, toRoute } from './ipam.ts'
import { resultSchema } from './result-schema.ts'
import { isAtLeast } from './version.ts'

export interface ResultInterface {
  readonly name: string
  readonly mac?: string
  readonly mtu?: number
  readonly sandbox?: string
  readonly socketPath?: string
  readonly pciID?: string
}

export interface ResultIp {
  /** With the prefix length. */
  readonly address: string
  readonly gateway?: string
  /** Index into `interfaces`. */
  readonly interface?: number
}

export interface Result {
  readonly interfaces: readonly ResultInterface[]
  readonly ips: readonly ResultIp[]
  readonly routes: readonly RouteConf[]
  readonly dns: Dns | undefined
}

/**
 * The result as JSON, indented as the reference does it. In the role host-local it is an interface plugin that reads
 * it: with `wholeRoutes` that one gets all that the configuration says of a route, in every version.
 *
 * Specification 0.1.0 and 0.2.0 know one address of a family and no interfaces; 0.3.0 to 0.4.0 name the family of each
 * address; numbers of routes and the MTU of interfaces came with 1.1.0.
 */
export function renderResult(
  result: Result,
  cniVersion: string,
  { wholeRoutes = isAtLeast(cniVersion, '1.1.0') } = {},
): string {
  const document = isAtLeast(cniVersion, '1.0.0')
    ? render1(result, cniVersion, wholeRoutes)
    : isAtLeast(cniVersion, '0.3.0')
      ? render03(result, cniVersion, wholeRoutes)
      : render01(result, cniVersion)
  return JSON.stringify(document, null, 4)
}

/**
 * A result of any version, told by its shape: `ips`, or `ip4` and `ip6`. Keys without regard to case.
 * What can't be understood is left out, unless `strict`.
 * @throws Fault code 7, only when `strict`, that names the wrong keys
 */
export function parseResult(raw: unknown, { strict = false, of = 'the result' } = {}): Result {
  if (!isObject(raw)) {
    if (strict) throw new Fault(CODE.invalidConfig, `${of} is not a JSON object`, 'expected a result as of ADD')
    return { interfaces: [], ips: [], routes: [], dns: undefined }
  }
  const seen = conform(resultSchema, strict ? raw : keepingIndices(raw), { of, tolerate: () => !strict })
  const old = [seen.ip4, seen.ip6].filter((entry) => entry !== undefined)
  return {
    interfaces: (seen.interfaces ?? []).map((link) => ({ name: '', ...link })),
    ips: [...(seen.ips ?? []), ...old.map(({ ip, gateway }) => ({ address: ip, ...(gateway && { gateway }) }))],
    routes: [...(seen.routes ?? []), ...old.flatMap(({ routes }) => routes ?? [])].map(toRoute),
    dns: toDns(seen.dns),
  }
}

/** An interface that can't be understood stays as an empty one: `ips` count on its place. */
function keepingIndices(raw: JsonObject): JsonObject {
  const interfaces = memberOf(raw, 'interfaces')
  if (!Array.isArray(interfaces)) return raw
  return { ...raw, interfaces: interfaces.map((link) => (isObject(link) ? link : {})) }
}

/**
 * A result with what a plugin later in the chain has made behind it: nothing of the former is changed, and indexes of
 * interfaces go on counting (specification 1.1.0, "ADD": the result is prevResult with the plugin's own changes).
 */
export function appendResult(former: Result, own: Result): Result {
  const shift = former.interfaces.length
  return {
    interfaces: [...former.interfaces, ...own.interfaces],
    ips: [
      ...former.ips,
      ...own.ips.map((ip) => (ip.interface === undefined ? ip : { ...ip, interface: ip.interface + shift })),
    ],
    routes: [...former.routes, ...own.routes],
    dns: own.dns ?? former.dns,
  }
}

function isIPv6(address: string): boolean {
  return address.includes(':')
}

/** Keys in alphabetical order, as the reference prints them since 1.0.0. */
function render1({ interfaces, ips, routes, dns }: Result, cniVersion: string, wholeRoutes: boolean): JsonObject {
  const is11 = isAtLeast(cniVersion, '1.1.0')
  return {
    cniVersion,
    ...(dns && { dns: sorted(dnsKeys(dns)) }),
    ...list('interfaces', interfaces, ({ mac, mtu, name, pciID, sandbox, socketPath }) =>
      is11 ? { mac, mtu, name, pciID, sandbox, socketPath } : { mac, name, sandbox },
    ),
    ...list('ips', ips, ({ address, gateway, interface: index }) => ({ address, gateway, interface: index })),
    ...list('routes', routes, (route) => routeKeys(route, wholeRoutes)),
  }
}

function routeKeys({ advmss, dst, gw, mtu, priority, scope, table }: RouteConf, whole: boolean): JsonObject {
  return whole ? { advmss, dst, gw, mtu, priority, scope, table } : { dst, gw }
}

function render03({ interfaces, ips, routes, dns }: Result, cniVersion: string, wholeRoutes: boolean): JsonObject {
  return {
    cniVersion,
    ...list('interfaces', interfaces, ({ name, mac, sandbox }) => ({ name, mac, sandbox })),
    ...list('ips', ips, ({ address, gateway, interface: index }) => ({
      version: isIPv6(address) ? '6' : '4',
      interface: index,
      address,
      gateway,
    })),
    ...list('routes', routes, (route) => routeKeys(route, wholeRoutes)),
    dns: dnsKeys(dns),
  }
}

function render01({ ips, routes, dns }: Result, cniVersion: string): JsonObject {
  const family = (six: boolean) => {
    const first = ips.find(({ address }) => isIPv6(address) === six)
    if (first === undefined) return undefined
    const own = routes.filter(({ dst }) => isIPv6(dst) === six)
    return { ip: first.address, gateway: first.gateway, ...list('routes', own, ({ dst, gw }) => ({ dst, gw })) }
  }
  return { cniVersion, ip4: family(false), ip6: family(true), dns: dnsKeys(dns) }
}

/** A list that is left out when it is empty. Members that are undefined are left out by JSON.stringify. */
function list<T>(key: string, items: readonly T[], render: (item: T) => JsonObject): JsonObject {
  return items.length === 0 ? {} : { [key]: items.map(render) }
}

function sorted(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function dnsKeys(dns: Dns | undefined): JsonObject {
  if (dns === undefined) return {}
  const { nameservers, domain, search, options } = dns
  const full = (items: readonly string[]) => (items.length > 0 ? items : undefined)
  return { nameservers: full(nameservers), domain: domain || undefined, search: full(search), options: full(options) }
}
