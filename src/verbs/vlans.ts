/** What a network in a VLAN asks of the verbs: a look at its ports and its gateway, and words for what stands against it. */
import type { NetConf } from '../cni/netconf.ts'
import { line } from '../core/line.ts'
import type { SeenLink, SeenVlan } from '../core/resource.ts'
import { gatewayDeviceOf, gatewayPortOf, hasVlans, KERNEL_REMEDY, needsVlanFiltering } from '../core/vlans.ts'
import { readLinks, readVlans } from '../host/ip-json.ts'
import { bridgeMac, hasLink } from '../host/machine.ts'
import type { Session } from '../host/session.ts'
import type { Tool } from '../host/tools.ts'
import { ruleTools } from './backend.ts'

/** The host's place in the network's VLAN. */
export interface VlanGateway {
  readonly device: string
  /** Its other end. */
  readonly port: string
  readonly mac: string
}

/** The gateway in the VLAN as it is, or as it will be made; undefined for a network that has none. */
export async function findVlanGateway(netconf: NetConf, host: Session): Promise<VlanGateway | undefined> {
  if (netconf.vlan === 0 || !netconf.isGateway || !netconf.ipam) return undefined
  const device = gatewayDeviceOf(netconf)
  const links = hasLink(device) ? readLinks(await host.run([line`addr show dev ${device}`])) : undefined
  const have = links?.get(device)
  return { device, port: have?.peerName ?? gatewayPortOf(device), mac: have?.mac ?? bridgeMac(device) }
}

/** Asks for the links of a gateway that is there. */
export function gatewayLines(gateway: VlanGateway | undefined): readonly string[] {
  return [gateway?.device, gateway?.port].flatMap((name) =>
    name && hasLink(name) ? [line`addr show dev ${name}`] : [],
  )
}

/** The VLANs of those of these ports that are there. */
export async function readVlansOf(
  session: Session | undefined,
  ports: readonly (string | undefined)[],
): Promise<ReadonlyMap<string, readonly SeenVlan[]>> {
  const there = ports.filter((port) => port !== undefined && hasLink(port)) as readonly string[]
  if (!session || there.length === 0) return new Map()
  const seen = readVlans(await session.run(there.map((port) => line`vlan show dev ${port}`)))
  // A port without any is left out of what bridge(8) prints.
  return new Map(there.map((port) => [port, seen.get(port) ?? []]))
}

/** The fourth of the result's interfaces: the gateway, where it is not the bridge. */
export function vlanInterfaces(
  netconf: NetConf,
  links: ReadonlyMap<string, SeenLink>,
): readonly { readonly name: string; readonly mac: string }[] {
  const device = links.get(gatewayDeviceOf(netconf))
  return netconf.vlan > 0 && device ? [{ name: device.name, mac: device.mac }] : []
}

/** The tools that the configuration needs. */
export function toolsOf(netconf: NetConf): readonly Tool[] {
  return ['ip', 'nsenter', ...ruleTools(netconf), ...(hasVlans(netconf) ? (['bridge'] as const) : [])]
}

/**
 * Why STATUS can't say yes to VLANs: the bridge has none, or, where there is no bridge yet, another one tells that
 * the kernel has none.
 */
export function vlanObstacle(
  netconf: NetConf,
  bridges: ReadonlyMap<string, SeenLink>,
): { readonly message: string; readonly remedy: string } | undefined {
  if (!needsVlanFiltering(netconf)) return undefined
  if ([...bridges.values()].some(({ vlanFiltering }) => vlanFiltering === 'unknown to the kernel')) {
    return { message: 'the kernel has no VLAN filtering for bridges', remedy: KERNEL_REMEDY }
  }
  if (bridges.get(netconf.bridge)?.vlanFiltering !== 'off') return undefined
  return { message: `the bridge ${netconf.bridge} does not tell VLANs apart`, remedy: bridgeRemedy(netconf) }
}

/** What to do about a conflict over VLAN filtering. */
export function vlanRemedy(netconf: NetConf, reasons: readonly string[]): string {
  const reason = reasons.find((text) => text.includes('VLAN filtering'))
  if (reason === undefined) return ''
  return `; ${reason.includes('kernel') ? KERNEL_REMEDY : bridgeRemedy(netconf)}`
}

function bridgeRemedy({ bridge }: NetConf): string {
  return (
    `run "ip link set dev ${bridge} type bridge vlan_filtering 1" (what is on it now stays in the default VLAN), or ` +
    'give the network a bridge of its own'
  )
}
