/** The node's own routes to pods: those that Pontoon made, which their protocol number tells. */
import { CODE, Fault } from '../core/fault.ts'
import { withoutPrefix } from '../core/ip.ts'
import { PROTOCOL, routeAddition, routeDeletion } from '../core/kinds/host-route.ts'
import { line } from '../core/line.ts'
import { openSession, type Session } from './session.ts'

/** A route of the node to one address, and the bridge that it goes by: the bridge itself, or a VLAN gateway of it. */
export interface NodeRoute {
  /** With prefix length, the full one. */
  readonly cidr: string
  readonly bridge: string
}

/** `10.9.0.5 cni0`, address and device. */
export async function readHostRoutes(): Promise<ReadonlySet<string>> {
  const session = openSession()
  try {
    return await listRoutes(session)
  } finally {
    await session.close()
  }
}

async function listRoutes(session: Session): Promise<ReadonlySet<string>> {
  const documents = await session.run([line`route show table all proto ${PROTOCOL}`])
  const routes = documents.flat() as readonly { readonly dst?: string; readonly dev?: string }[]
  return new Set(routes.map(({ dst = '', dev = '' }) => `${dst} ${dev}`))
}

/** One that there is: the address, without prefix length, and the device. */
export interface SeenRoute {
  readonly address: string
  readonly device: string
}

/** Those of these routes that there are. Another bridge may have a route to the same address. */
export function routesAmong(seen: ReadonlySet<string>, routes: readonly NodeRoute[]): readonly SeenRoute[] {
  const bridges = new Map<string, string[]>()
  for (const { cidr, bridge } of routes) {
    const address = withoutPrefix(cidr)
    bridges.set(address, [...(bridges.get(address) ?? []), bridge])
  }
  return [...seen].flatMap((route) => {
    const [address = '', device = ''] = route.split(' ')
    return bridges.get(address)?.some((bridge) => isOnBridge(device, bridge)) ? [{ address, device }] : []
  })
}

/** The lines that remove them. */
export function removalLines(seen: ReadonlySet<string>, routes: readonly NodeRoute[]): readonly string[] {
  return routesAmong(seen, routes).map(({ address, device }) => routeDeletion(cidrOf(address), device))
}

/** Is this the bridge itself, or a VLAN gateway of it? */
export function isOnBridge(device: string, bridge: string): boolean {
  return device === bridge || device.startsWith(`${bridge}.`)
}

/**
 * @returns those that were there
 * @throws Fault 105 naming the line that failed; none when there is no such route
 */
export async function removeRoutes(routes: readonly NodeRoute[]): Promise<readonly SeenRoute[]> {
  const session = openSession()
  const seen = await listRoutes(session)
  await session.run(removalLines(seen, routes))
  // It may have gone with the bridge in the meantime.
  const [first] = (await session.close()).filter(({ text }) => !/No such process|Cannot find device/.test(text))
  if (first) throw new Fault(CODE.leftover, `can't remove a route of the node`, `ip ${first.line}: ${first.text}`)
  return routesAmong(seen, routes)
}

export async function restoreRoutes(routes: readonly SeenRoute[]): Promise<void> {
  const session = openSession()
  await session.run(routes.map(({ address, device }) => routeAddition(cidrOf(address), device)))
  await session.close() // one whose bridge has gone meanwhile is no loss
}

function cidrOf(address: string): string {
  return `${address}/${address.includes(':') ? 128 : 32}`
}
