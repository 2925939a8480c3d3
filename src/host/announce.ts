/**
 * Tells the neighbours who has the addresses now, once the port forwards, so that a stale entry of a former owner
 * cuts nobody off.
 *
 * IPv4: asking the kernel to resolve the pod's own address makes it broadcast "who has A, tell A", which is a
 * gratuitous ARP (RFC 5227, section 3), three times in three seconds, long after this process has ended. IPv6: with
 * `ndisc_notify` the kernel sends an unsolicited neighbour advertisement (RFC 4861, section 7.2.6) for each address
 * when the hardware address is set, also when it is set to what it was.
 */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import { formatIp, type Ip } from '../core/ip.ts'
import { line } from '../core/line.ts'
import type { SeenLink } from '../core/resource.ts'
import type { Hands } from './apply.ts'
import { readLinks } from './ip-json.ts'
import { readPort } from './machine.ts'
import { findTool, TOOL_ENV } from './tools.ts'

export interface Pod {
  /** The sandbox as children may name it. */
  readonly netns: string
  readonly ifname: string
  readonly mac: string
  readonly addresses: readonly Ip[]
  /** Wait for duplicate address detection, and fail when it finds one. */
  readonly dad: boolean
}

/** Milliseconds: a port forwards within about one; a bridge with spanning tree takes 30 s, which nobody waits for. */
const PORT_WAIT = 250
/** In milliseconds: where a hundred ADDs queue for the kernel, their looks would keep it busy. */
const LONGEST_PAUSE = 32
const DAD_WAIT = 10_000
const DAD_PAUSE = 40

export async function announce(pod: Pod, hands: Hands, hostVeth: string): Promise<void> {
  const four = pod.addresses.filter(({ family }) => family === 4)
  const hasSix = four.length < pod.addresses.length
  if (pod.addresses.length === 0) return
  const notify = hasSix ? writeInside(pod, 'ndisc_notify', '1') : undefined
  await waitForPort(hands, hostVeth)
  await notify
  await hands.sandbox.run([
    ...four.map((ip) => line`neigh replace ${formatIp(ip)} dev ${pod.ifname} use`),
    ...(hasSix ? [line`link set dev ${pod.ifname} address ${pod.mac}`] : []),
  ])
  if (pod.dad && hasSix) await waitForAddresses(pod, hands)
}

async function waitForPort({ host }: Hands, hostVeth: string): Promise<void> {
  const end = engine.monotonic() + PORT_WAIT
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    // The container's end has yet to come up: the first look, too, is worth it only after a pause.
    await engine.sleep(pause)
    const state = readPort(hostVeth)
    if (state === undefined) break
    if (state === 'forwards' || engine.monotonic() + pause > end) return
  }
  for (let pause = 1; ; pause *= 2) {
    const seen = readLinks(await host.run([line`addr show dev ${hostVeth}`])).get(hostVeth)
    if (!seen || isForwarding(seen) || engine.monotonic() + pause > end) return
    await engine.sleep(pause)
  }
}

function isForwarding(seen: SeenLink): boolean {
  return seen.running && (!seen.port || seen.port.state === 'forwarding')
}

/** Writes an IPv6 setting of the sandbox's interface: only a process inside sees it. Best effort. */
export async function writeInside({ netns, ifname }: Pod, setting: string, value: string): Promise<void> {
  const child = engine.spawn({
    argv: [findTool('nsenter'), `--net=${netns}`, findTool('tee'), `/proc/sys/net/ipv6/conf/${ifname}/${setting}`],
    env: TOOL_ENV,
    deadline: 5_000,
  })
  child.write(value)
  child.end()
  await child.exit
}

async function waitForAddresses(pod: Pod, { sandbox }: Hands): Promise<void> {
  const end = engine.monotonic() + DAD_WAIT
  for (;;) {
    const seen = readLinks(await sandbox.run([line`addr show dev ${pod.ifname}`])).get(pod.ifname)
    const failed = seen?.addresses.find((address) => address.failed)
    if (failed) {
      const remedy = 'another host on the link has this address: duplicate address detection found it'
      throw new Fault(CODE.conflict, `address ${failed.cidr} is in use`, remedy)
    }
    if (!seen?.addresses.some((address) => address.tentative)) return
    if (engine.monotonic() > end) {
      const remedy = `it did not end within ${DAD_WAIT / 1000} s; is the bridge up?`
      throw new Fault(CODE.tryAgain, `duplicate address detection on ${pod.ifname} did not end`, remedy)
    }
    await engine.sleep(DAD_PAUSE)
  }
}
