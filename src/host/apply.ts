/**
 * Runs ADD's steps: host lines, then sandbox lines, the nft script beside them; and takes them back.
 *
 * The processes are started before it is known what they will be told, so that their start-up passes beside the
 * plugin's own work.
 */

import { CODE, Fault } from '../core/fault.ts'
import { kindOf } from '../core/kinds.ts'
import { line } from '../core/line.ts'
import { missingFrom } from '../core/nat.ts'
import type { Step } from '../core/plan.ts'
import type { Op, Resource, SeenLink } from '../core/resource.ts'
import { isFileError } from '../engine/engine.ts'
import { announce, type Pod, writeInside } from './announce.ts'
import { readLinks } from './ip-json.ts'
import { keepRouterAdvertisements, writeSysctl } from './machine.ts'
import { addElements, type NftProcess } from './nft.ts'
import type { Session } from './session.ts'
import { closeAll, linesOf } from './verdict.ts'

export interface Hands {
  readonly host: Session
  readonly sandbox: Session
  /** Absent when nothing is masqueraded. */
  readonly nft: NftProcess | undefined
  /** Of bridge(8); absent when no port gets VLANs. */
  readonly vlans?: Session | undefined
}

export interface Place {
  readonly bridge: string
  readonly hostVeth: string
  readonly vlanGateway?: { readonly device: string; readonly port: string } | undefined
  /** The bridge as it was seen before. */
  readonly seen?: SeenLink | undefined
}

export type Host = ReadonlyMap<string, SeenLink>

/**
 * Runs all steps; resolves to the links of the host as they are then.
 * @throws Fault of the first thing that went wrong; everything else has come to its end by then, so that it can be
 *   undone
 */
export async function apply(steps: readonly Step[], hands: Hands, place: Place, pod: Pod): Promise<Host> {
  const host = await orEnd(hands, () => runHost(steps, hands, place))
  const isMade = isUnderWay(host, place)
  const [links, rules, nat] = await Promise.allSettled([
    runLinks(steps, hands, place, pod, host),
    isMade ? runNft(steps, hands) : hands.nft?.drop(),
    isMade ? runNat(steps) : undefined,
  ])
  if (links.status === 'rejected') throw links.reason
  if (rules.status === 'rejected') throw rules.reason
  if (nat.status === 'rejected') throw nat.reason
  return host
}

/** Whatever is under way ends before the caller undoes it. */
async function orEnd<T>(hands: Hands, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await Promise.all([hands.host.close(), hands.sandbox.close(), hands.vlans?.close(), hands.nft?.drop()])
    throw error
  }
}

/** Without pair and bridge nothing else is touched: the pair shows whether namespace and name can be used. */
function isUnderWay(host: Host, { hostVeth, bridge }: Place): boolean {
  return host.has(hostVeth) && host.has(bridge)
}

async function runNft(steps: readonly Step[], { nft }: Hands): Promise<void> {
  const ops = steps.flatMap(({ run }) => run).filter((op) => op.tool === 'nft')
  if (!nft) return
  if (ops.length === 0) return nft.drop()
  await addElements(
    nft,
    ops.flatMap(({ lines }) => lines),
    ops.map(({ whenMissing }) => whenMissing),
  )
}

/** By iptables: one process a family. */
async function runNat(steps: readonly Step[]): Promise<void> {
  const ops = steps.flatMap(({ run }) => run).filter((op) => op.tool === 'iptables')
  if (ops.length === 0) return
  const { settleNat } = await import('./iptables.ts')
  const settled = await Promise.allSettled(
    ops.map(({ family, lines }) => settleNat(family, lines, (seen) => missingFrom(seen, lines))),
  )
  const failed = settled.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

async function runLinks(steps: readonly Step[], hands: Hands, place: Place, pod: Pod, host: Host): Promise<void> {
  const { host: outside, sandbox } = hands
  let forgiven: readonly string[] = []
  try {
    if (isUnderWay(host, place)) {
      forgiven = await runSandbox(steps, hands, pod)
      await announce(pod, hands, place.hostVeth)
    }
  } catch (error) {
    await Promise.all([outside.close(), sandbox.close(), hands.vlans?.close()])
    throw error
  }
  await closeAll(steps, hands, host, forgiven)
}

/** Runs the host's lines, and looks at what came of them. */
async function runHost(steps: readonly Step[], hands: Hands, place: Place): Promise<Host> {
  const { bridge, hostVeth, seen, vlanGateway } = place
  const isAlone = steps.every(
    ({ resource, run }) => kindOf(resource).scope === 'attachment' && run.every(({ tool }) => tool !== 'bridge'),
  )
  if (!seen || vlanGateway || !isAlone) return runShared(steps, hands, place)
  // Nothing changes the bridge: that the pair became its port is all there is to know.
  const links = readLinks(await hands.host.run([...linesOf(steps, 'host'), line`addr show dev ${hostVeth}`]))
  return links.get(hostVeth)?.master === bridge ? links.set(bridge, seen) : links
}

/** With the sysctls and VLANs between them. */
async function runShared(steps: readonly Step[], { host, vlans }: Hands, place: Place): Promise<Host> {
  let lines: string[] = []
  let hasBridge = true
  const showBridge = line`addr show dev ${place.bridge}`
  // Shown so that it is waited for: a bridge's settings are there as soon as the bridge is.
  const flush = async () => {
    if (lines.length > 0) hasBridge = readLinks(await host.run([...lines, showBridge])).has(place.bridge)
    lines = []
    return hasBridge
  }
  for (const { resource, run } of steps) {
    const ofVlans = run.flatMap((op) => (op.tool === 'bridge' ? [op.line] : []))
    if (ofVlans.length > 0 && resource.kind === 'vlan' && (await flush())) {
      await vlans?.run([...ofVlans, line`vlan show dev ${resource.port}`])
    }
    for (const op of run) {
      if (op.tool === 'ip' && op.on === 'host') lines.push(op.line)
      if (op.tool === 'sysctl' && (await flush())) setSysctl(op)
    }
    // Without the bridge the rest can't be. Why it is not there shows when the session ends.
    if (!hasBridge) break
  }
  const { device, port } = place.vlanGateway ?? {}
  const others = [place.hostVeth, device, port].filter((name) => name !== undefined)
  return readLinks(await host.run([...lines, showBridge, ...others.map((name) => line`addr show dev ${name}`)]))
}

/**
 * Runs the sandbox's lines. Where the sandbox has IPv6 switched off, as some runtimes do, it is switched on for this
 * interface alone, and the lines about IPv6 run again.
 * @returns the lines whose first failure is of no matter
 */
async function runSandbox(steps: readonly Step[], { sandbox }: Hands, pod: Pod): Promise<readonly string[]> {
  const lines = linesOf(steps, 'sandbox')
  const six = pod.addresses.filter(({ family }) => family === 6).length
  if (six === 0) {
    await sandbox.run(lines)
    return []
  }
  const show = line`addr show dev ${pod.ifname}`
  const seen = readLinks(await sandbox.run([...lines, show])).get(pod.ifname)
  if (!seen || seen.addresses.some(({ family }) => family === 6)) return []
  await writeInside(pod, 'disable_ipv6', '0')
  const again = linesOf(
    steps.filter(({ resource }) => familyOf(resource) === 6),
    'sandbox',
  )
  await sandbox.run(again)
  return again
}

function familyOf(resource: Resource): number | undefined {
  if (resource.kind === 'address') return resource.cidr.ip.family
  return resource.kind === 'route' ? resource.dst.ip.family : undefined
}

function setSysctl({ key, value, optional }: Extract<Op, { tool: 'sysctl' }>): void {
  try {
    if (key === 'net/ipv6/conf/all/forwarding') keepRouterAdvertisements()
    writeSysctl(key, value)
  } catch (error) {
    if (optional || !isFileError(error)) {
      if (optional) return
      throw error
    }
    const name = key.replaceAll('/', '.')
    const remedy =
      error.code === 'ENOENT'
        ? 'the kernel has no such setting: for IPv6, boot without ipv6.disable=1, or give the network no IPv6 range'
        : `${error.code}: /proc/sys is not for writing here; run "sysctl -w ${name}=${value}" on the node`
    throw new Fault(CODE.kernel, `can't set ${name} to ${value}`, remedy, { cause: error })
  }
}
