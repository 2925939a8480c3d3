/** ADD: validates everything, reserves, makes what is absent, and on any failure takes all of it back. */

import type { Request } from '../cni/request.ts'
import { type Result, renderResult } from '../cni/result.ts'
import { hostMacOf, labelOf, sandboxMacOf } from '../core/attachment.ts'
import { describe } from '../core/describe.ts'
import { CODE, Fault } from '../core/fault.ts'
import { formatCidr, formatIp } from '../core/ip.ts'
import { nameOf as resourceName } from '../core/kinds.ts'
import { line } from '../core/line.ts'
import { elementsOf, type Plan, planAdd } from '../core/plan.ts'
import type { Resource, SeenLink } from '../core/resource.ts'
import { defaultRoutes, type RouteText, resolveRoutes } from '../core/routes.ts'
import { apply, type Hands } from '../host/apply.ts'
import { writeEntry } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { bridgeMac, hasInetNat, hasLink } from '../host/machine.ts'
import { startNft } from '../host/nft.ts'
import { observed, readSysctls } from '../host/observe.ts'
import type { Sandbox } from '../host/sandbox.ts'
import { findTool } from '../host/tools.ts'
import type { Ahead } from './ahead.ts'
import { type Call, callOf } from './call.ts'
import { type Claim, claim, parseWish } from './claim.ts'
import { readDns } from './dns.ts'
import { chooseMac } from './mac.ts'
import { undo } from './undo.ts'
import { loopbackFault, refuseUnsupported } from './unsupported.ts'

/** @returns the result document */
export async function add(request: Request, ahead: Ahead | undefined): Promise<string> {
  const call = callOf(request)
  const { netconf } = call
  refuseUnsupported(netconf)
  const obstacle = loopbackFault(netconf)
  if (obstacle) throw obstacle
  const wish = parseWish(netconf, request.args.ips)
  const askedMac = chooseMac(request)
  const written = netconf.ipam?.routes ?? []
  resolveRoutes(written, [], request.ifname) // a wrong one is told now, not when half of the work is done
  const dns = readDns(netconf)
  for (const tool of ['ip', 'nsenter', ...(netconf.ipMasq ? (['nft'] as const) : [])] as const) findTool(tool)
  const { netns: sandbox, host, sandbox: inside } = enter(request, ahead)
  try {
    const hands = { host, sandbox: inside, nft: netconf.ipMasq && netconf.ipam ? startNft() : undefined }
    const claimed = await orDrop(hands, () => claim(call, wish, sandbox, netconf.bridge))
    const mac = askedMac ?? sandboxMacOf(claimed.assigned[0]?.cidr.ip, call.key)
    const routes = netconf.isDefaultGateway ? [...written, ...defaultRoutes(written, claimed.assigned)] : written
    const { links, elements } = await make(call, claimed, sandbox, hands, mac, routes)
    writeEntry(call.indexFolder, { ...claimed.entry, elements, done: true })
    return renderResult(toResult(call, claimed, links, mac, routes, dns), netconf.cniVersion)
  } finally {
    sandbox.close()
  }
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

async function orDrop<T>(hands: Hands, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await drop(hands)
    throw error
  }
}

async function drop({ host, sandbox, nft }: Hands): Promise<void> {
  await Promise.all([host.close(), sandbox.close(), nft?.drop()])
}

interface Made {
  readonly links: ReadonlyMap<string, SeenLink>
  readonly elements: readonly string[]
}

async function make(
  call: Call,
  claimed: Claim,
  sandbox: Sandbox,
  hands: Hands,
  mac: string,
  routes: readonly RouteText[],
): Promise<Made> {
  const { netconf, attachment, hostVeth } = call
  const plan = await orDrop(hands, async () => {
    const ends = {
      host: hostVeth,
      hostMac: hostMacOf(call.key),
      mac,
      label: labelOf(attachment),
      netns: sandbox.handle,
      bridgeMac: hasLink(netconf.bridge) ? '' : bridgeMac(netconf.bridge),
      inetNat: hasInetNat(),
    }
    const desired = describe({ options: netconf, attachment, ends, assigned: claimed.assigned, routes, ownStore: true })
    return planAdd(desired, await look(call, claimed, hands, desired))
  })
  if (!plan.ok) {
    await drop(hands)
    await undo(call, claimed, [])
    throw conflictFault(plan)
  }
  const pod = {
    netns: sandbox.handle,
    ifname: attachment.ifname,
    mac,
    addresses: claimed.assigned.map(({ cidr }) => cidr.ip),
    dad: netconf.enabledad,
  }
  try {
    const links = await apply(plan.steps, hands, { bridge: netconf.bridge, hostVeth }, pod)
    return { links, elements: elementsOf(plan.steps) }
  } catch (error) {
    await undo(call, claimed, plan.steps)
    throw error
  }
}

/** What the host has of it. A host end that a killed ADD of this very attachment left is removed first. */
async function look(call: Call, claimed: Claim, { host }: Hands, desired: readonly Resource[]) {
  const { netconf, hostVeth, owner } = call
  if (claimed.isTakenOver && hasLink(hostVeth)) await host.run([line`link del dev ${hostVeth}`])
  const lines = [
    ...(hasLink(netconf.bridge) ? [line`addr show dev ${netconf.bridge}`] : []),
    ...(hasLink(hostVeth) ? [line`addr show dev ${hostVeth}`] : []),
  ]
  const links = lines.length > 0 ? readLinks(await host.run(lines)) : new Map<string, SeenLink>()
  const mine = `${owner.containerID} ${owner.ifname}`
  const reservations = new Map(claimed.assigned.map(({ cidr }) => [formatIp(cidr.ip), mine] as const))
  return observed({ host: links, reservations, sysctls: readSysctls(desired) })
}

function conflictFault({ conflicts }: Extract<Plan, { ok: false }>): Fault {
  const all = conflicts.map(({ resource, reason }) => `${resourceName(resource)}: ${reason}`)
  const isGateway = conflicts.some(({ resource }) => resource.kind === 'gateway')
  const remedy = isGateway ? '; remove that address, or set forceAddress to replace it' : ''
  return new Fault(CODE.conflict, `something is in the way: ${all[0]}`, all.join('; ') + remedy)
}

function toResult(
  { request, netconf, hostVeth }: Call,
  { assigned }: Claim,
  links: ReadonlyMap<string, SeenLink>,
  mac: string,
  routes: readonly RouteText[],
  dns: Result['dns'],
): Result {
  const host = links.get(hostVeth)
  const mtu = host?.mtu
  return {
    interfaces: [
      { name: netconf.bridge, mac: links.get(netconf.bridge)?.mac ?? '' },
      { name: hostVeth, mac: host?.mac ?? '' },
      { name: request.ifname, mac, sandbox: request.netns, ...(mtu ? { mtu } : {}) },
    ],
    ips: assigned.map(({ cidr, gateway }) => ({
      address: formatCidr(cidr),
      ...(gateway ? { gateway: formatIp(gateway) } : {}),
      interface: 2,
    })),
    routes: routes.map((route) => route as Result['routes'][number]),
    dns,
  }
}
