/** What the host has of the resources, as plain data. */
import type { Family } from './ip.ts'
import type { NatRule } from './nat.ts'
import type { VlanRange } from './resource.ts'

export interface SeenAddress {
  readonly family: Family
  /** Canonical, with prefix length. */
  readonly cidr: string
  readonly tentative: boolean
  readonly failed: boolean
}

export interface SeenLink {
  readonly index: number
  readonly name: string
  /** `bridge`, `veth`, … ; '' for a device of no kind. */
  readonly type: string
  readonly mac: string
  readonly mtu: number
  readonly up: boolean
  readonly running: boolean
  readonly promisc: boolean
  readonly master?: string | undefined
  /** Interface index of a veth's other end, in the other end's namespace. */
  readonly peer?: number | undefined
  /** Its name, when it is in the same namespace. */
  readonly peerName?: string | undefined
  readonly alias?: string | undefined
  readonly port?: { readonly state: string; readonly hairpin: boolean; readonly isolated: boolean } | undefined
  /** Of a bridge: whether it tells its ports apart by VLAN, or whether the kernel can't. */
  readonly vlanFiltering?: 'on' | 'off' | 'unknown to the kernel' | undefined
  readonly addresses: readonly SeenAddress[]
}

export interface SeenVlan extends VlanRange {
  /** The VLAN of frames that come in untagged. */
  readonly pvid: boolean
  /** Leaves untagged. */
  readonly untagged: boolean
}

export interface SeenRoute {
  readonly dst: string
  readonly via: string
  readonly table: number
  readonly scope: number
  readonly priority: number
  readonly mtu: number
  readonly advmss: number
}

/** The masquerading that is there: elements by set, rules by the set they look into. */
export interface SeenMasquerade {
  /** `family table-set address` → comment. */
  readonly elements: ReadonlyMap<string, string>
  /** Sets that a rule looks into, as `family table set`. */
  readonly served: ReadonlySet<string>
  /** Those that a rule looks into which no packet comes to. */
  readonly idle?: ReadonlySet<string>
}

export interface Observed {
  readonly host: ReadonlyMap<string, SeenLink>
  readonly sandbox: ReadonlyMap<string, SeenLink>
  readonly routes: readonly SeenRoute[]
  /** Of the node, made by Pontoon: `10.9.0.5 cni0`. */
  readonly hostRoutes: ReadonlySet<string>
  readonly sysctls: ReadonlyMap<string, string>
  /** Address → `containerID ifname` of its owner. */
  readonly reservations: ReadonlyMap<string, string>
  readonly masquerade: SeenMasquerade
  /** The same of Pontoon's own tables. */
  readonly filter: SeenMasquerade
  /** By port. */
  readonly vlans: ReadonlyMap<string, readonly SeenVlan[]>
  /** Addresses of the attachment that the reference masquerades. */
  readonly masqueraded: ReadonlySet<string>
  /** Host ends whose hardware address the reference looks at. */
  readonly guarded: ReadonlySet<string>
  /** The rules of iptables' nat table that are about CNI plugins. */
  readonly nat: ReadonlyMap<Family, readonly NatRule[]>
}
