/**
 * What Pontoon makes, as plain data: resources, and the lines that make and remove them.
 */
import type { Attachment } from './attachment.ts'
import type { Cidr, Family, Ip } from './ip.ts'
import type { Observed } from './observed.ts'

export type * from './observed.ts'

export interface Reservation {
  readonly kind: 'reservation'
  readonly address: string
  readonly attachment: Attachment
}

export interface Veth {
  readonly kind: 'veth'
  readonly host: string
  readonly ifname: string
  readonly hostMac: string
  readonly mac: string
  /** 0: the kernel's default. */
  readonly mtu: number
  readonly label: string
  /** A path that `ip link … netns` takes. */
  readonly netns: string
}

export interface Bridge {
  readonly kind: 'bridge'
  readonly name: string
  readonly mac: string
  readonly mtu: number
  readonly promisc: boolean
  /** Its ports are told apart by VLAN. Left out where nothing needs it: not every kernel knows it. */
  readonly vlanFiltering?: true
}

export interface VlanRange {
  readonly min: number
  readonly max: number
}

export interface Vlan {
  readonly kind: 'vlan'
  readonly port: string
  /** Its own; 0: none. */
  readonly vlan: number
  /** Sorted, apart, and without its own. */
  readonly trunk: readonly VlanRange[]
  /** Keeps the VLAN that the bridge gave it. */
  readonly keepsDefault: boolean
}

export interface VlanGateway {
  readonly kind: 'vlanGateway'
  readonly bridge: string
  /** `cni0.100` */
  readonly name: string
  readonly mac: string
  /** The other end: a port of the bridge. */
  readonly port: string
  readonly mtu: number
}

export interface Untracked {
  readonly kind: 'untracked'
  readonly bridge: string
  /** The VLAN gateway, and its hardware address. */
  readonly gateway: string
  readonly mac: string
}

export interface Spoofcheck {
  readonly kind: 'spoofcheck'
  readonly host: string
  readonly mac: string
  readonly attachment: Attachment
}

export interface Sysctl {
  readonly kind: 'sysctl'
  /** Below /proc/sys, as sysctl(8) takes it with slashes. */
  readonly key: string
  readonly value: string
}

export interface Gateway {
  readonly kind: 'gateway'
  /** Or the VLAN gateway. */
  readonly bridge: string
  readonly cidr: Cidr
  /** Replace an address that is in the way. */
  readonly force: boolean
  /** Addresses that former configurations of the network put there, and that nobody lives by any more. */
  readonly former?: readonly string[]
}

/** Of the node, to an address that is a subnet of its own. */
export interface HostRoute {
  readonly kind: 'hostRoute'
  readonly address: Ip
  /** The bridge, or the VLAN gateway. */
  readonly device: string
}

export interface Port {
  readonly kind: 'port'
  readonly host: string
  readonly bridge: string
  readonly hairpin: boolean
  readonly isolated: boolean
}

/** The sandbox end, up unless it is not to be. */
export interface Link {
  readonly kind: 'link'
  readonly ifname: string
  readonly host: string
  /** '' and 0: not compared. */
  readonly mac: string
  readonly mtu: number
  readonly staysDown?: true
}

export interface Address {
  readonly kind: 'address'
  readonly ifname: string
  readonly cidr: Cidr
  readonly dad: boolean
}

export interface Route {
  readonly kind: 'route'
  readonly ifname: string
  readonly dst: Cidr
  readonly via: Ip | undefined
  readonly onlink: boolean
  readonly mtu: number
  readonly advmss: number
  readonly priority: number
  readonly table: number
  readonly scope: number | undefined
}

/** How a pod's traffic leaves its subnet. */
export interface Translation {
  /** Besides the subnet: destinations that see the pod's own address. */
  readonly exclude?: readonly Cidr[]
  /** In place of the address of the interface it leaves by. */
  readonly snatTo?: Ip
}

export interface Masquerade extends Translation {
  readonly kind: 'masquerade'
  readonly address: Ip
  readonly subnet: Cidr
  readonly attachment: Attachment
  /** The table's family: `inet`, or the address's own where the kernel has no NAT in `inet` (before 5.2). */
  readonly inet: boolean
}

/** The same by iptables: for one attachment, all addresses of one family. */
export interface Iptables extends Translation {
  readonly kind: 'iptables'
  readonly family: Family
  /** The container's chain on this network. */
  readonly chain: string
  readonly attachment: Attachment
  readonly pods: readonly Cidr[]
}

export type Resource =
  | Reservation
  | Veth
  | Bridge
  | VlanGateway
  | Sysctl
  | Gateway
  | HostRoute
  | Port
  | Vlan
  | Link
  | Address
  | Route
  | Masquerade
  | Iptables
  | Untracked
  | Spoofcheck
export type Of<K extends Resource['kind']> = Extract<Resource, { kind: K }>

/** A literal line of a tool, or a file's new content. `apply` runs them, `plan` prints them. */
export type Op =
  | { readonly tool: 'ip'; readonly on: 'host' | 'sandbox'; readonly line: string }
  | { readonly tool: 'bridge'; readonly line: string }
  | { readonly tool: 'nft'; readonly lines: readonly string[]; readonly whenMissing: readonly string[] }
  | { readonly tool: 'iptables'; readonly family: Family; readonly lines: readonly string[] }
  | { readonly tool: 'sysctl'; readonly key: string; readonly value: string; readonly optional?: boolean }
  | { readonly tool: 'store'; readonly action: 'reserve' | 'release'; readonly address: string }

export type Finding =
  | { readonly is: 'absent' }
  | { readonly is: 'present' }
  | { readonly is: 'different'; readonly want: string; readonly have: string }

export interface Kind<R extends Resource> {
  /** Shared by the network's attachments, or made for one. */
  readonly scope: 'network' | 'attachment'
  /** What ADD does when it is there already. */
  readonly whenPresent: 'keep' | 'refuse'
  /** `bridge cni0`, for messages and plans. */
  name(want: R): string
  inspect(want: R, seen: Observed): Finding
  create(want: R): readonly Op[]
  /** Succeeds when there was nothing. */
  remove(want: R): readonly Op[]
  /** What makes a different one right. Without it, or when it is empty, the difference is a conflict. */
  repair?(want: R, seen: Observed): readonly Op[]
}

export const PRESENT: Finding = { is: 'present' }
export const ABSENT: Finding = { is: 'absent' }

export function different(want: string | number, have: string | number): Finding {
  return { is: 'different', want: String(want), have: String(have) }
}
