/** ADD: validates everything, reserves, makes what is absent, and on any failure takes all of it back. */
import type { Dns } from '../cni/dns.ts'
import type { NetConf } from '../cni/netconf.ts'
import type { Request } from '../cni/request.ts'
import { appendResult, parseResult, type Result, renderResult } from '../cni/result.ts'
import { sandboxMacOf } from '../core/attachment.ts'
import { describe, translationOf } from '../core/describe.ts'
import { CODE, Fault } from '../core/fault.ts'
import { formatCidr, formatIp } from '../core/ip.ts'
import { elementsOf, type Step } from '../core/plan.ts'
import { type Assigned, defaultRoutes, type RouteText, resolveRoutes } from '../core/routes.ts'
import { noteAddress, writeEntry } from '../host/index-files.ts'
import { startNft } from '../host/nft.ts'
import { findTool } from '../host/tools.ts'
import { mark } from '../host/trace.ts'
import type { Ahead } from './ahead.ts'
import { usesIptables, withBackend } from './backend.ts'
import { type Call, callOf, hasOwnIpam, isDelegated } from './call.ts'
import { type Claim, claim, parseWish } from './claim.ts'
import { readDns } from './dns.ts'
import { loopbackFault } from './loopback.ts'
import { chooseMac } from './mac.ts'
import { endsOf, type Links, type Making, make, orDrop } from './make.ts'
import { withoutPrefix } from './victims.ts'
import { findVlanGateway, toolsOf, vlanInterfaces } from './vlans.ts'

/** What was made, for the result. */
export interface Made {
  readonly links: Links
  readonly assigned: readonly Assigned[]
  readonly routes: readonly RouteText[]
  readonly dns: Dns | undefined
}

/** @returns the result document */
export async function add(request: Request, ahead: Ahead | undefined): Promise<string> {
  const call = callOf(withBackend(request))
  const { netconf } = call
  const obstacle = loopbackFault(netconf)
  if (obstacle) throw obstacle
  const isForeign = isDelegated(netconf)
  const wish = isForeign ? { sets: [], asked: [] } : parseWish(netconf, request.args.ips)
  const askedMac = chooseMac(request)
  resolveRoutes(netconf.ipam?.routes ?? [], [], request.ifname) // a wrong one is told now, not when all is half done
  for (const family of [4, 6] as const) translationOf(netconf, family)
  const dns = readDns(netconf)
  const former = netconf.prevResult === undefined ? undefined : parseFormer(netconf.prevResult)
  for (const tool of toolsOf(netconf)) findTool(tool)
  const { netns: sandbox, host, sandbox: inside } = enter(request, ahead)
  mark('the verb is loaded, the configuration checked')
  try {
    const byIptables = usesIptables(netconf)
    const nft = netconf.ipMasq && netconf.ipam && !byIptables && !isForeign ? startNft() : undefined
    const hands = { host, sandbox: inside, nft }
    const claimed = await orDrop(hands, () => claim(call, wish, sandbox, netconf.bridge))
    mark('the addresses are reserved')
    const mac = askedMac ?? sandboxMacOf(claimed.assigned[0]?.cidr.ip, call.key)
    const vlanGateway = await findVlanGateway(netconf, host)
    const natChain = byIptables ? (await import('../core/reference.ts')).chainOf(call.attachment) : undefined
    const making: Making = { call, claim: claimed, sandbox, mac, vlanGateway, natChain, taken: [] }
    if (claimed.former) await orUndo(making, () => orDrop(hands, () => clearFormer(making)), true)
    const made = await orUndo(making, async () => {
      if (isForeign) return (await import('./add-delegated.ts')).makeDelegated(making, hands, dns)
      const routes = completeRoutes(netconf, netconf.ipam?.routes ?? [], claimed.assigned)
      return { links: await make(making, desiredOf(making, claimed.assigned, routes), hands), ...claimed, routes, dns }
    })
    const entry = doneEntry(claimed, made, making.taken)
    writeEntry(call.indexFolder, entry)
    for (const cidr of entry.addresses) noteAddress(call.indexFolder, withoutPrefix(cidr), call.key)
    mark('the index is written')
    const own = toResult(call, made, mac)
    return renderResult(former ? appendResult(former, own) : own, netconf.cniVersion)
  } finally {
    sandbox.close()
  }
}

/** What the plugins before this one in the chain have made. */
function parseFormer(prevResult: unknown): Result {
  return parseResult(prevResult, { strict: true, of: 'prevResult' })
}

/** @throws Fault 4 when CNI_NETNS is no namespace, or the host's own */
function enter({ netns, allowOwnNetns }: Request, ahead: Ahead | undefined): Ahead {
  if (!ahead) {
    const remedy =
      'expected the path of a network namespace; a runtime in another mount namespace may see one where the plugin ' +
      'does not'
    throw new Fault(CODE.invalidEnvironment, `CNI_NETNS ${netns} is not a network namespace`, remedy)
  }
  if (!ahead.netns.isOwn || allowOwnNetns) return ahead
  const remedy = 'expected the namespace of a container; CNI_NETNS_OVERRIDE=1 allows the own one'
  throw new Fault(CODE.invalidEnvironment, `CNI_NETNS ${netns} is the plugin's own network namespace`, remedy)
}

/** Hardly ever is there one. */
async function clearFormer({ call, claim, natChain }: Making): Promise<void> {
  await (await import('./former.ts')).clearFormer(call, claim, natChain !== undefined)
}

/** @param isPartial what a former ADD left is there still: the entry and the reservations lead to it */
async function orUndo<T>(making: Making, work: () => Promise<T>, isPartial = false): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await (await import('./undo.ts')).undo(making.call, making.claim, making.taken, isPartial)
    throw error
  }
}

/** The routes that were written, and the default ones where the configuration asks for them. */
export function completeRoutes(
  { isDefaultGateway }: NetConf,
  written: readonly RouteText[],
  assigned: readonly Assigned[],
): readonly RouteText[] {
  return isDefaultGateway ? [...written, ...defaultRoutes(written, assigned)] : written
}

export function desiredOf(making: Making, assigned: readonly Assigned[], routes: readonly RouteText[]) {
  const { netconf, attachment } = making.call
  return describe({
    options: netconf,
    attachment,
    ends: endsOf(making),
    assigned,
    routes,
    ownStore: hasOwnIpam(netconf),
  })
}

function doneEntry({ entry }: Claim, { assigned }: Made, taken: readonly Step[]) {
  const addresses = assigned.map(({ cidr }) => formatCidr(cidr))
  return { ...entry, addresses, elements: elementsOf(taken), done: true }
}

function toResult({ request, netconf, hostVeth }: Call, made: Made, mac: string): Result {
  const host = made.links.get(hostVeth)
  const mtu = host?.mtu
  return {
    interfaces: [
      { name: netconf.bridge, mac: made.links.get(netconf.bridge)?.mac ?? '' },
      { name: hostVeth, mac: host?.mac ?? '' },
      { name: request.ifname, mac, sandbox: request.netns, ...(mtu ? { mtu } : {}) },
      ...vlanInterfaces(netconf, made.links),
    ],
    ips: made.assigned.map(({ cidr, gateway }) => ({
      address: formatCidr(cidr),
      ...(gateway ? { gateway: formatIp(gateway) } : {}),
      interface: 2,
    })),
    routes: made.routes.map((route) => route as Result['routes'][number]),
    dns: made.dns,
  }
}
