/** The routes of an attachment: those that the configuration names, with their gateways, and the default ones. */
import { CODE, Fault } from './fault.ts'
import { type Cidr, contains, type Family, formatIp, type Ip, networkOf, parseCidr, parseIp } from './ip.ts'
import type { Route } from './resource.ts'

/** A route as a configuration or a result writes it (specification 1.1.0, "ADD Success": routes). */
export interface RouteText {
  readonly dst: string
  readonly gw?: string | undefined
  readonly mtu?: number | undefined
  readonly advmss?: number | undefined
  readonly priority?: number | undefined
  readonly table?: number | undefined
  readonly scope?: number | undefined
}

/** An address given to the attachment, with its prefix length, and the gateway of its subnet. */
export interface Assigned {
  readonly cidr: Cidr
  readonly gateway: Ip | undefined
}

const ANY: Readonly<Record<Family, string>> = { 4: '0.0.0.0/0', 6: '::/0' }
/** rtnetlink(7): RT_SCOPE_LINK and RT_SCOPE_HOST know no gateway. */
const SCOPE_LINK = 253
const LINK_LOCAL: Cidr = { ip: { family: 6, value: 0xfe80n << 112n }, prefix: 10 }

/**
 * The default routes that `isDefaultGateway` adds to those of the configuration: one a family, through its gateway,
 * unless the configuration has a default route of that family itself.
 */
export function defaultRoutes(routes: readonly RouteText[], assigned: readonly Assigned[]): readonly RouteText[] {
  const families: readonly Family[] = [4, 6]
  return families.flatMap((family) => {
    const isThere = routes.some((route) => route.dst === ANY[family] && !route.table)
    const via = gatewayOf(family, assigned)
    return via && !isThere ? [{ dst: ANY[family], gw: formatIp(via) }] : []
  })
}

/**
 * Turns written routes into resources. A route without a gateway goes through the first one of its family, as with
 * the reference, unless its scope says that it is on the link. A gateway outside of all subnets is taken as on-link.
 * @throws Fault 7 naming the route
 */
export function resolveRoutes(
  texts: readonly RouteText[],
  assigned: readonly Assigned[],
  ifname: string,
): readonly Route[] {
  return texts.map((text, i) => {
    const where = `route ${i} (${JSON.stringify(text.dst)})`
    const dst = parseCidr(text.dst)
    if (!dst) throw new Fault(CODE.invalidConfig, `invalid ${where}`, 'dst: expected an address and a prefix length')
    const own = text.gw ? parseIp(text.gw) : undefined
    if (text.gw && own?.family !== dst.ip.family) {
      const found = `found ${JSON.stringify(text.gw)}`
      throw new Fault(CODE.invalidConfig, `invalid ${where}`, `gw: expected an IPv${dst.ip.family} address; ${found}`)
    }
    const isOnLink = text.scope !== undefined && text.scope >= SCOPE_LINK
    const via = isOnLink ? undefined : (own ?? gatewayOf(dst.ip.family, assigned))
    return {
      kind: 'route',
      ifname,
      dst: networkOf(dst),
      via,
      onlink: via !== undefined && !isReachable(via, assigned),
      mtu: text.mtu ?? 0,
      advmss: text.advmss ?? 0,
      priority: text.priority ?? 0,
      table: text.table ?? 0,
      scope: text.scope,
    }
  })
}

function gatewayOf(family: Family, assigned: readonly Assigned[]): Ip | undefined {
  return assigned.find(({ cidr, gateway }) => cidr.ip.family === family && gateway)?.gateway
}

function isReachable(via: Ip, assigned: readonly Assigned[]): boolean {
  return contains(LINK_LOCAL, via) || assigned.some(({ cidr }) => contains(cidr, via))
}
