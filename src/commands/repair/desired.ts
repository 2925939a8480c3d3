/** What the living attachments of a network should have on the host, by index and configuration. */
import type { NetConf } from '../../cni/netconf.ts'
import { hostMacOf, hostVethOf, keyOf, labelOf } from '../../core/attachment.ts'
import { describe } from '../../core/describe.ts'
import { type Cidr, contains, formatCidr, type Ip, networkOf, parseCidr, widthOf } from '../../core/ip.ts'
import { line } from '../../core/line.ts'
import type { RangeSet } from '../../core/ranges.ts'
import type { Resource, SeenLink } from '../../core/resource.ts'
import type { Assigned, RouteText } from '../../core/routes.ts'
import { gatewayDeviceOf, gatewayPortOf } from '../../core/vlans.ts'
import type { IndexEntry } from '../../host/index-files.ts'
import { readLinks } from '../../host/ip-json.ts'
import { bridgeMac, hasInetNat, hasLink } from '../../host/machine.ts'
import { openSession } from '../../host/session.ts'
import { hasOwnIpam, isDelegated } from '../../verbs/call.ts'
import { notedGateways } from '../../verbs/gateways.ts'
import { strangersOf } from '../unindexed.ts'
import type { NetworkView } from '../view.ts'

/** Those that were made to the end, whose namespace is there, and whose host end is. */
export function livingOf({ known }: NetworkView): readonly IndexEntry[] {
  return known
    .filter(({ entry, isDead }) => entry.done && !isDead && entry.hostVeth !== '' && hasLink(entry.hostVeth))
    .map(({ entry }) => entry)
}

/** Pods whose host end is gone while they live: nothing but a new ADD helps them. */
export function cutOff({ known }: NetworkView): readonly IndexEntry[] {
  return known
    .filter(({ entry, isDead }) => entry.done && !isDead && entry.hostVeth !== '' && !hasLink(entry.hostVeth))
    .map(({ entry }) => entry)
}

/** @param living those of the index, and those of the reference plugin as it would have them */
export async function desiredOf(
  view: NetworkView,
  living: readonly IndexEntry[],
  links: ReadonlyMap<string, SeenLink>,
): Promise<readonly Resource[]> {
  const { netconf } = view.network
  const [macs, chains] = await Promise.all([
    netconf.macspoofchk ? readMacs(living) : new Map<string, string>(),
    chainsOf(living),
  ])
  const own = living.flatMap((entry) =>
    desiredOfOne(view, entry, { links, mac: macs.get(entry.hostVeth), natChain: chains.get(entry), routes: [] }),
  )
  const shared = strangersOf(view, links).flatMap((entry) => desiredOfOne(view, entry, { links, routes: [] }))
  return [...own, ...shared.filter(({ kind }) => SHARED.includes(kind))]
}

/** What pods of other plugins live by, too. */
const SHARED: readonly Resource['kind'][] = ['bridge', 'vlanGateway', 'sysctl', 'gateway']

interface Around {
  readonly links: ReadonlyMap<string, SeenLink>
  /** Of the interface inside; undefined: its frames are not looked at. */
  readonly mac?: string | undefined
  readonly natChain?: string | undefined
  readonly routes: readonly RouteText[]
}

export function desiredOfOne(view: NetworkView, entry: IndexEntry, around: Around): readonly Resource[] {
  const netconf = netconfOf(view, entry)
  const { links, mac, natChain, routes } = around
  const device = gatewayDeviceOf(netconf)
  const have = links.get(device)
  const masks = entry.masquerade !== 'none'
  return describe({
    options: {
      ...netconf,
      macspoofchk: netconf.macspoofchk && mac !== undefined,
      ipMasq4: netconf.ipMasq4 && masks,
      ipMasq6: netconf.ipMasq6 && masks,
      // What it means to be silent about the default VLAN has changed with the reference's versions.
      preserveDefaultVlan: netconf.preserveDefaultVlan || entry.hostVeth !== hostVethOf(keyOf(entry)),
    },
    attachment: entry,
    ends: {
      host: entry.hostVeth,
      hostMac: hostMacOf(keyOf(entry)),
      mac: mac ?? '',
      label: labelOf(entry),
      netns: entry.netns,
      bridgeMac: bridgeMac(netconf.bridge),
      inetNat: hasInetNat(),
      natChain,
      vlanGateway: { port: have?.peerName ?? gatewayPortOf(device), mac: have?.mac ?? bridgeMac(device) },
    },
    assigned: assignedTo(view, entry),
    routes,
    ownStore: hasOwnIpam(netconf),
  })
}

/** A pod stays on the bridge and in the VLAN that it came to, whatever the configuration says by now. */
function netconfOf({ network: { netconf } }: NetworkView, { bridge, vlan }: IndexEntry): NetConf {
  return { ...netconf, bridge: bridge || netconf.bridge, vlan: vlan ?? netconf.vlan }
}

/**
 * Its addresses, with the gateways that the configuration gives them. Another IPAM plugin gave them to ADD alone:
 * those that the network has put on its bridge are noted.
 */
export function assignedTo(view: NetworkView, entry: IndexEntry): readonly Assigned[] {
  const netconf = netconfOf(view, entry)
  const noted = isDelegated(netconf) ? notedGateways(view.network, gatewayDeviceOf(netconf)) : []
  return entry.addresses.flatMap((text) => {
    const cidr = parseCidr(text)
    return cidr ? [{ cidr, gateway: gatewayOf(cidr, view.sets, noted) }] : []
  })
}

function gatewayOf(pod: Cidr, sets: readonly RangeSet[], noted: readonly Cidr[]): Ip | undefined {
  const range = sets.flat().find(({ subnet }) => contains(subnet, pod.ip))
  if (range) return range.gateway
  const able = noted.filter((gateway) => canServe(gateway, pod))
  return able.length === 1 ? able[0]?.ip : undefined
}

/** In one subnet; or the subnet of each is its address alone. */
function canServe(gateway: Cidr, { ip, prefix }: Cidr): boolean {
  if (gateway.prefix !== prefix || gateway.ip.family !== ip.family) return false
  return prefix === widthOf(ip.family) || contains(gateway, ip)
}

/** Gateways that nobody but the other IPAM plugin knows, though the bridge has none in their subnet: one message each. */
export function unknownGateways(view: NetworkView, links: ReadonlyMap<string, SeenLink>): readonly string[] {
  const { netconf } = view.network
  if (!netconf.isGateway || !isDelegated(netconf)) return []
  const device = gatewayDeviceOf(netconf)
  const there = (links.get(device)?.addresses ?? []).flatMap(({ cidr }) => parseCidr(cidr) ?? [])
  const lacking = livingOf(view)
    .flatMap((entry) => assignedTo(view, entry))
    .filter(({ cidr, gateway }) => !gateway && !there.some((one) => canServe(one, cidr)))
  const subnets = new Set(lacking.map(({ cidr }) => formatCidr(networkOf(cidr))))
  return [...subnets].map(
    (subnet) =>
      `the gateway of ${subnet} on ${device}: only the IPAM plugin ${netconf.ipam?.type} knows it; the next ADD puts it there`,
  )
}

/** The hardware addresses inside, by host end: what macspoofchk lets through. */
async function readMacs(living: readonly IndexEntry[]): Promise<ReadonlyMap<string, string>> {
  const macs = new Map<string, string>()
  for (const { netns, ifname, hostVeth } of living.filter((entry) => entry.netns !== '')) {
    const session = openSession(netns)
    try {
      const mac = readLinks(await session.run([line`addr show dev ${ifname}`])).get(ifname)?.mac
      if (mac) macs.set(hostVeth, mac)
    } catch {
      // It ended meanwhile: it needs no check any more.
    } finally {
      await session.close()
    }
  }
  return macs
}

async function chainsOf(living: readonly IndexEntry[]): Promise<ReadonlyMap<IndexEntry, string>> {
  const byIptables = living.filter(({ masquerade }) => masquerade === 'iptables')
  if (byIptables.length === 0) return new Map()
  const { chainOf } = await import('../../core/reference.ts')
  return new Map(byIptables.map((entry) => [entry, chainOf(entry)]))
}
