/** Networks, bridges, ports, pods and addresses, as one tree. Pure. */

import { parseLabel } from '../../core/attachment.ts'
import type { SeenLink, SeenVlan } from '../../core/resource.ts'
import { gatewayDeviceOf } from '../../core/vlans.ts'
import type { IndexEntry } from '../../host/index-files.ts'
import type { NetworkView } from '../view.ts'

export interface Topology {
  readonly node: string
  readonly uplink: string
  readonly networks: readonly NetworkNode[]
}

export interface NetworkNode {
  readonly name: string
  readonly bridge: string
  /** `up`, `down`, or `absent` until the first pod comes. */
  readonly state: string
  readonly mtu: number
  readonly subnets: readonly string[]
  /** Addresses of the gateway, with the device that has them. */
  readonly gateways: readonly string[]
  readonly gatewayDevice: string
  /** How packets leave: `nftables`, `iptables`, or '' when pods keep their addresses. */
  readonly masquerade: string
  /** The bridge has the gateway, and the node forwards. */
  readonly routed: boolean
  readonly ports: readonly PortNode[]
}

export interface PortNode {
  readonly name: string
  readonly state: string
  /** `10`, `100-199 tagged`; '' where the bridge has none. */
  readonly vlans: string
  /** `namespace/name`, the container, or what else it is. */
  readonly owner: string
  readonly kind: 'pod' | 'other'
  readonly ifname: string
  readonly netns: string
  readonly addresses: readonly string[]
  readonly masqueraded: boolean
}

export interface Ground {
  readonly node: string
  readonly uplink: string
  readonly links: ReadonlyMap<string, SeenLink>
  readonly vlans: ReadonlyMap<string, readonly SeenVlan[]>
}

export function topologyOf(views: readonly NetworkView[], ground: Ground): Topology {
  const shown = new Set<string>()
  const networks = views.map((view) => {
    const isFirst = !shown.has(view.network.netconf.bridge)
    shown.add(view.network.netconf.bridge)
    return networkNode(view, ground, isFirst)
  })
  return { node: ground.node, uplink: ground.uplink, networks }
}

/** @param isFirst of those on its bridge: what is nobody's is shown once */
function networkNode(view: NetworkView, ground: Ground, isFirst: boolean): NetworkNode {
  const { netconf, name } = view.network
  const bridge = ground.links.get(netconf.bridge)
  const gatewayDevice = gatewayDeviceOf(netconf)
  const living = view.known.filter(({ isDead, entry }) => !isDead && entry.done)
  const others = [...ground.links.values()].filter(
    (link) => isFirst && link.master === netconf.bridge && parseLabel(link.alias) === undefined,
  )
  const backends = new Set(living.map(({ entry }) => entry.masquerade).filter((backend) => backend !== 'none'))
  const masquerade = [...backends].join(' and ') || (netconf.ipMasq ? (netconf.ipMasqBackend ?? 'nftables') : '')
  return {
    name,
    bridge: netconf.bridge,
    state: bridge === undefined ? 'absent' : bridge.up ? 'up' : 'down',
    mtu: bridge?.mtu ?? netconf.mtu,
    subnets: [...new Set(view.ranges.map(({ subnet }) => subnet))],
    gateways: (ground.links.get(gatewayDevice)?.addresses ?? [])
      .map(({ cidr }) => cidr)
      .filter((cidr) => !cidr.startsWith('fe80:')),
    gatewayDevice,
    masquerade,
    routed: netconf.isGateway,
    ports: [...living.map(({ entry }) => podPort(entry, ground)), ...others.map((link) => otherPort(link, ground))],
  }
}

function podPort(entry: IndexEntry, { links, vlans }: Ground): PortNode {
  const link = links.get(entry.hostVeth)
  return {
    name: entry.hostVeth,
    state: link === undefined ? 'absent' : link.up ? 'up' : 'down',
    vlans: vlanText(vlans.get(entry.hostVeth)),
    owner: entry.pod ?? entry.containerID,
    kind: 'pod',
    ifname: entry.ifname,
    netns: entry.netns,
    addresses: entry.addresses,
    masqueraded: entry.masquerade !== 'none',
  }
}

function otherPort(link: SeenLink, { vlans }: Ground): PortNode {
  return {
    name: link.name,
    state: link.up ? 'up' : 'down',
    vlans: vlanText(vlans.get(link.name)),
    owner: link.peerName ? `gateway ${link.peerName}` : `another ${link.type || 'device'}`,
    kind: 'other',
    ifname: '',
    netns: '',
    addresses: [],
    masqueraded: false,
  }
}

/** The default VLAN by itself says nothing. */
function vlanText(vlans: readonly SeenVlan[] | undefined): string {
  if (!vlans || (vlans.length === 1 && vlans[0]?.min === 1 && vlans[0].max === 1)) return ''
  return vlans
    .map(({ min, max, untagged }) => `${min === max ? min : `${min}-${max}`}${untagged ? '' : ' tagged'}`)
    .join(', ')
}
