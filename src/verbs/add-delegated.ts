/**
 * ADD with another IPAM plugin: the interface first, since a plugin such as dhcp works through it; then the plugin;
 * then addresses, routes and rules. When something fails, the plugin gets its DEL before the interface goes.
 */
import type { Dns } from '../cni/dns.ts'
import { parseResult, type Result } from '../cni/result.ts'
import { CODE, Fault } from '../core/fault.ts'
import { loadIpv6, mentionsIpv6, networkOf, parseCidr, parseIp, plus, widthOf } from '../core/ip.ts'
import { nameOf } from '../core/kinds.ts'
import { elementsOf, type Step } from '../core/plan.ts'
import type { Assigned } from '../core/routes.ts'
import type { Hands } from '../host/apply.ts'
import { type Delegation, parseObject, runDelegate } from '../host/delegate.ts'
import { startNft } from '../host/nft.ts'
import { openSession } from '../host/session.ts'
import { sweep } from '../host/sweep.ts'
import { completeRoutes, desiredOf, type Made } from './add.ts'
import { usesIptables } from './backend.ts'
import type { Call } from './call.ts'
import { type Making, make } from './make.ts'
import { noteOf, routesMade } from './undo.ts'

export function delegationOf({ request, netconf }: Call): Delegation {
  return { type: netconf.ipam?.type ?? '', path: request.path, stdin: request.stdin }
}

export async function makeDelegated(making: Making, hands: Hands, dns: Dns | undefined): Promise<Made> {
  const { call, sandbox } = making
  const { netconf } = call
  const bare = desiredOf(making, [], [])
  await make(making, bare, hands)
  const delegation = delegationOf(call)
  try {
    const result = readResult(delegation.type, await runDelegate(delegation, 'ADD'), netconf.cniVersion)
    if (mentionsIpv6(JSON.stringify(result))) await loadIpv6()
    const assigned = result.ips.map((ip) => assign(ip, netconf.isGateway))
    const routes = completeRoutes(netconf, result.routes, assigned)
    const isMade = new Set(bare.map(nameOf))
    const rest = desiredOf(making, assigned, routes).filter((resource) => !isMade.has(nameOf(resource)))
    const more = {
      host: openSession(),
      sandbox: openSession(sandbox.handle),
      nft: netconf.ipMasq && !usesIptables(netconf) ? startNft() : undefined,
    }
    return { links: await make(making, rest, more), assigned, routes, dns: dns ?? result.dns }
  } catch (error) {
    await takeRulesBack(making)
    await takeBack(delegation)
    throw error
  }
}

/** What stands on an address goes before the plugin gives it to another, who makes the same anew. */
async function takeRulesBack({ call, claim: { entry }, taken }: Making): Promise<void> {
  const isRule = ({ resource }: Step) => resource.kind === 'masquerade' || resource.kind === 'hostRoute'
  const rules = taken.filter(isRule)
  if (rules.length === 0) return
  const what = { attachment: entry, owner: call.owner, addresses: [], links: [], isPartial: true }
  const routes = routesMade(rules, entry.bridge)
  for (const failure of await sweep([{ ...what, elements: elementsOf(rules), routes }], call)) noteOf(failure)
  taken.splice(0, taken.length, ...taken.filter((step) => !isRule(step)))
}

/** Specification 1.1.0, "Section 4: Plugin Delegation", "Delegated plugin execution procedure": DEL after a failure. */
async function takeBack(delegation: Delegation): Promise<void> {
  try {
    await runDelegate(delegation, 'DEL')
  } catch (error) {
    noteOf(error)
  }
}

function readResult(type: string, stdout: string, version: string): Result {
  const document = parseObject(stdout)
  if (!document) {
    const found = JSON.stringify(stdout.slice(0, 200))
    throw new Fault(CODE.delegate, `the IPAM plugin ${type} printed no result`, `expected JSON; found ${found}`)
  }
  const result = parseResult({ cniVersion: version, ...document }, { strict: true, of: `the result of ${type}` })
  if (result.ips.length > 0) return result
  throw new Fault(CODE.delegate, `the IPAM plugin ${type} gave no address`, `its result has no "ips"`)
}

function assign({ address, gateway }: Result['ips'][number], isGateway: boolean): Assigned {
  const cidr = parseCidr(address)
  const via = gateway ? parseIp(gateway) : undefined
  if (!cidr || (gateway && !via)) {
    const found = JSON.stringify({ address, gateway })
    throw new Fault(CODE.delegate, 'the IPAM plugin gave an invalid address', `expected address/prefix; found ${found}`)
  }
  if (via || !isGateway || widthOf(cidr.ip.family) - cidr.prefix < 2) return { cidr, gateway: via }
  // A gateway is asked for and the plugin names none: the first address of the subnet, as with host-local.
  return { cidr, gateway: plus(networkOf(cidr).ip, 1n) }
}
