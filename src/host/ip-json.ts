/** What `ip -details -json` prints, as plain data. Parsed here and nowhere else. */
import type { SeenAddress, SeenLink, SeenRoute, SeenVlan } from '../core/resource.ts'

/** The members that are read, of `link show`, `addr show` and `route show`; any may be missing. */
interface IpObject {
  readonly ifindex?: number
  readonly ifname?: string
  readonly flags?: readonly string[]
  readonly mtu?: number
  readonly master?: string
  readonly operstate?: string
  readonly address?: string
  readonly link_index?: number
  /** The same as a name, for a link in the same namespace. */
  readonly link?: string
  readonly ifalias?: string
  readonly linkinfo?: {
    readonly info_kind?: string
    readonly info_data?: BridgeData
    readonly info_slave_data?: { readonly state?: string; readonly hairpin?: boolean; readonly isolated?: boolean }
  }
  readonly addr_info?: readonly {
    readonly local?: string
    readonly prefixlen?: number
    readonly tentative?: boolean
    readonly dadfailed?: boolean
  }[]
  readonly dst?: string
  readonly gateway?: string
  readonly dev?: string
  readonly nexthops?: readonly { readonly gateway?: string; readonly dev?: string }[]
  readonly table?: string
  readonly scope?: string
  readonly metric?: number
  readonly pref?: string
  readonly metrics?: readonly { readonly mtu?: number; readonly advmss?: number }[]
}

interface BridgeData {
  readonly vlan_filtering?: number
  readonly vlan_default_pvid?: number
}

interface BridgeVlans {
  readonly ifname?: string
  readonly vlans?: readonly { readonly vlan: number; readonly vlanEnd?: number; readonly flags?: readonly string[] }[]
}

/** The VLANs of ports, in the documents of `bridge -json -compressvlans vlan show`. */
export function readVlans(documents: readonly unknown[]): ReadonlyMap<string, readonly SeenVlan[]> {
  return new Map(
    (documents.flat() as readonly BridgeVlans[]).flatMap(({ ifname, vlans = [] }) =>
      ifname === undefined ? [] : [[ifname, vlans.map(readVlan)] as const],
    ),
  )
}

function readVlan({ vlan, vlanEnd = vlan, flags = [] }: NonNullable<BridgeVlans['vlans']>[number]): SeenVlan {
  return { min: vlan, max: vlanEnd, pvid: flags.includes('PVID'), untagged: flags.includes('Egress Untagged') }
}

function objects(documents: readonly unknown[]): readonly IpObject[] {
  return documents.flat().filter((item) => typeof item === 'object' && item !== null) as IpObject[]
}

/** All links in the documents, by name. An answer to `addr show` has their addresses, one to `link show` has not. */
export function readLinks(documents: readonly unknown[]): Map<string, SeenLink> {
  const links = new Map<string, SeenLink>()
  for (const object of objects(documents)) {
    if (object.ifindex === undefined || object.ifname === undefined || !object.flags) continue
    links.set(object.ifname, readLink(object, object.ifname, object.ifindex))
  }
  return links
}

function readLink(object: IpObject, name: string, index: number): SeenLink {
  const { info_kind, info_data, info_slave_data: slave } = object.linkinfo ?? {}
  const flags = object.flags ?? []
  return {
    index,
    name,
    type: info_kind ?? '',
    mac: object.address ?? '',
    mtu: object.mtu ?? 0,
    up: flags.includes('UP'),
    running: object.operstate === 'UP' || object.operstate === 'UNKNOWN',
    promisc: flags.includes('PROMISC'),
    master: object.master,
    peer: object.link_index,
    peerName: object.link,
    alias: object.ifalias,
    port: slave && { state: slave.state ?? '', hairpin: slave.hairpin ?? false, isolated: slave.isolated ?? false },
    vlanFiltering: info_kind === 'bridge' ? readFiltering(info_data) : undefined,
    addresses: (object.addr_info ?? []).flatMap((info) => readAddress(info)),
  }
}

/** A kernel without VLAN filtering tells that it is off, but has no VLAN that ports get by default. */
function readFiltering({ vlan_filtering, vlan_default_pvid }: BridgeData = {}): SeenLink['vlanFiltering'] {
  if (vlan_filtering === 1) return 'on'
  return vlan_default_pvid === undefined ? 'unknown to the kernel' : 'off'
}

function readAddress(info: NonNullable<IpObject['addr_info']>[number]): SeenAddress[] {
  if (info.local === undefined) return []
  const { tentative = false, dadfailed = false } = info
  const family = info.local.includes(':') ? 6 : 4
  // The C library prints addresses as RFC 5952 asks: they are canonical as they come.
  return [{ family, cidr: `${info.local}/${info.prefixlen}`, tentative, failed: dadfailed }]
}

const TABLES: Readonly<Record<string, number>> = { default: 253, main: 254, local: 255 }
const SCOPES: Readonly<Record<string, number>> = { global: 0, site: 200, link: 253, host: 254, nowhere: 255 }

/**
 * The routes in the answer to `route show table all` that leave by this interface. Two IPv6 routes of one destination
 * and metric are one with two ways to the kernel: each way is a route here.
 */
export function readRoutes(documents: readonly unknown[], ifname: string): readonly SeenRoute[] {
  const ways = objects(documents).flatMap(({ nexthops, ...object }) =>
    nexthops ? nexthops.map((way) => ({ ...object, ...way })) : [object],
  )
  return ways.flatMap((object) => {
    if (object.dst === undefined || object.ifindex !== undefined || object.dev !== ifname) return []
    // Only IPv6 routes have a router preference (RFC 4191): it tells the family of a default route without gateway.
    const six = object.dst.includes(':') || object.pref !== undefined
    const any = six ? '::/0' : '0.0.0.0/0'
    const text =
      object.dst === 'default' ? any : object.dst.includes('/') ? object.dst : `${object.dst}/${six ? 128 : 32}`
    const { mtu = 0, advmss = 0 } = object.metrics?.[0] ?? {}
    return [
      {
        dst: text,
        via: object.gateway ?? '',
        table: numberOf(object.table, TABLES, 254),
        scope: numberOf(object.scope, SCOPES, 0),
        priority: object.metric ?? 0,
        mtu,
        advmss,
      },
    ]
  })
}

/** Names of tables and scopes, or their numbers where the machine has no name for them. */
function numberOf(text: string | undefined, names: Readonly<Record<string, number>>, otherwise: number): number {
  if (text === undefined) return otherwise
  return names[text] ?? (/^\d+$/.test(text) ? Number(text) : otherwise)
}
