/** Makes the desired resources that are absent, as ADD does it: look, plan, apply. */

import { hostMacOf, labelOf } from '../core/attachment.ts'
import type { Ends } from '../core/describe.ts'
import { CODE, Fault } from '../core/fault.ts'
import { formatIp } from '../core/ip.ts'
import { nameOf } from '../core/kinds.ts'
import { line } from '../core/line.ts'
import { type Plan, planAdd, type Step } from '../core/plan.ts'
import type { Observed, Resource, SeenLink } from '../core/resource.ts'
import { apply, type Hands } from '../host/apply.ts'
import { readLinks } from '../host/ip-json.ts'
import { bridgeMac, hasInetNat, hasLink } from '../host/machine.ts'
import { startNft } from '../host/nft.ts'
import { observed, readSysctls } from '../host/observe.ts'
import type { Sandbox } from '../host/sandbox.ts'
import { openSession } from '../host/session.ts'
import type { Call } from './call.ts'
import type { Claim } from './claim.ts'
import { noteGateways, withFormerGateways } from './gateways.ts'
import { gatewayLines, readVlansOf, type VlanGateway, vlanRemedy } from './vlans.ts'

export type Links = ReadonlyMap<string, SeenLink>

/** What is made for: the call, its claim, the sandbox's end. */
export interface Making {
  readonly call: Call
  readonly claim: Claim
  readonly sandbox: Sandbox
  readonly mac: string
  /** The host's place in the network's VLAN, as it was found or will be made. */
  readonly vlanGateway: VlanGateway | undefined
  /** The chain that masquerades; undefined when nftables does. */
  readonly natChain?: string | undefined
  /** Filled with the steps as soon as they may have been taken, for the one who undoes them. */
  readonly taken: Step[]
}

export function endsOf({ call, sandbox, mac, vlanGateway, natChain }: Omit<Making, 'claim' | 'taken'>): Ends {
  const { bridge } = call.netconf
  return {
    host: call.hostVeth,
    hostMac: hostMacOf(call.key),
    mac,
    label: labelOf(call.attachment),
    netns: sandbox.handle,
    // A digest that only a bridge which is yet to be made needs.
    bridgeMac: hasLink(bridge) ? '' : bridgeMac(bridge),
    inetNat: call.netconf.ipMasq && hasInetNat(),
    vlanGateway,
    natChain,
  }
}

/**
 * @returns the links of the host as they are then
 * @throws Fault 101 with every conflict, before anything is made; or the first thing that went wrong
 */
export async function make(making: Making, desired: readonly Resource[], started: Hands): Promise<Links> {
  const { call, sandbox, mac, vlanGateway, taken } = making
  const hands = { ...started, ...othersFor(desired, started) }
  const { netconf, attachment, hostVeth } = call
  let bridge: SeenLink | undefined
  const plan = await orDrop(hands, async () => {
    const seen = await look(making, hands, desired)
    bridge = seen.host.get(netconf.bridge)
    return planAdd(
      (await withFormerGateways(call, desired)).map((one) => withMac(one, seen)),
      seen,
    )
  })
  if (!plan.ok) {
    await drop(hands)
    throw conflictFault(plan, netconf)
  }
  taken.push(...plan.steps)
  const addresses = desired.flatMap((resource) => (resource.kind === 'address' ? [resource.cidr.ip] : []))
  const pod = { netns: sandbox.handle, ifname: attachment.ifname, mac, addresses, dad: netconf.enabledad }
  const place = { bridge: netconf.bridge, hostVeth, vlanGateway, seen: bridge }
  const links = await apply(plan.steps, hands, place, pod)
  noteGateways(call, plan.steps)
  return links
}

/** A bridge that went away after `endsOf` had looked needs its address after all. */
function withMac(desired: Resource, { host }: Observed): Resource {
  if (desired.kind !== 'bridge' || desired.mac !== '' || host.has(desired.name)) return desired
  return { ...desired, mac: bridgeMac(desired.name) }
}

/** The processes that only some networks need. */
function othersFor(desired: readonly Resource[], { nft }: Hands): Pick<Hands, 'vlans' | 'nft'> {
  const has = (...kinds: readonly Resource['kind'][]) => desired.some(({ kind }) => kinds.includes(kind))
  return {
    vlans: has('vlan') ? openSession(undefined, 'bridge') : undefined,
    nft: nft ?? (has('spoofcheck', 'untracked') ? startNft() : undefined),
  }
}

/** Ends the processes that were started when what they were started for fails. */
export async function orDrop<T>(hands: Hands, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await drop(hands)
    throw error
  }
}

async function drop({ host, sandbox, vlans, nft }: Hands): Promise<void> {
  await Promise.all([host.close(), sandbox.close(), vlans?.close(), nft?.drop()])
}

/** What the host has of it. */
async function look({ call, claim, vlanGateway }: Making, { host, vlans }: Hands, desired: readonly Resource[]) {
  const { netconf, hostVeth, owner } = call
  const lines = [
    ...(hasLink(netconf.bridge) ? [line`addr show dev ${netconf.bridge}`] : []),
    ...(hasLink(hostVeth) ? [line`addr show dev ${hostVeth}`] : []),
    ...gatewayLines(vlanGateway),
  ]
  const links: Links = lines.length > 0 ? readLinks(await host.run(lines)) : new Map()
  const mine = `${owner.containerID} ${owner.ifname}`
  const reservations = new Map(claim.assigned.map(({ cidr }) => [formatIp(cidr.ip), mine] as const))
  const ofPorts = await readVlansOf(vlans, [vlanGateway?.port])
  return observed({ host: links, vlans: ofPorts, reservations, sysctls: readSysctls(desired) })
}

export function conflictFault({ conflicts }: Extract<Plan, { ok: false }>, netconf: Call['netconf']): Fault {
  const all = conflicts.map(({ resource, reason }) => `${nameOf(resource)}: ${reason}`)
  const isGateway = conflicts.some(({ resource }) => resource.kind === 'gateway')
  const remedy = isGateway
    ? '; remove that address, or set forceAddress to replace it'
    : vlanRemedy(
        netconf,
        conflicts.map(({ reason }) => reason),
      )
  return new Fault(CODE.conflict, `something is in the way: ${all[0]}`, all.join('; ') + remedy)
}
