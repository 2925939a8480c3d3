/**
 * The desired resources of one attachment, in the order in which they are made: each behind those that it needs.
 *
 * ADD makes them, CHECK compares them, plan prints them: there is no second list.
 */
import type { Attachment } from './attachment.ts'
import { CODE, Fault } from './fault.ts'
import { type Family, formatIp, type Ip, networkOf, parseCidr, parseIp, widthOf } from './ip.ts'
import type { Resource, Translation, VlanRange } from './resource.ts'
import { type Assigned, type RouteText, resolveRoutes } from './routes.ts'
import { gatewayDeviceOf, needsVlanFiltering, vlanGatewayOf, vlansOf } from './vlans.ts'

/** What of the configuration matters here. */
export interface NetworkOptions {
  readonly bridge: string
  readonly isGateway: boolean
  readonly forceAddress: boolean
  readonly ipMasq4: boolean
  readonly ipMasq6: boolean
  readonly ipMasqExclude: readonly string[]
  readonly snatTo: readonly string[]
  readonly mtu: number
  readonly hairpinMode: boolean
  readonly promiscMode: boolean
  readonly enabledad: boolean
  readonly portIsolation: boolean
  /** 0: none. */
  readonly vlan: number
  readonly vlanTrunk: readonly VlanRange[] | undefined
  readonly preserveDefaultVlan: boolean
  readonly macspoofchk: boolean
  readonly disableContainerInterface: boolean
}

export interface Ends {
  readonly host: string
  readonly hostMac: string
  readonly mac: string
  readonly label: string
  /** A path that `ip link … netns` takes. */
  readonly netns: string
  readonly bridgeMac: string
  /** Of the gateway in the network's VLAN, where it has one: its other end, and its hardware address. */
  readonly vlanGateway?: { readonly port: string; readonly mac: string } | undefined
  /** Does the kernel masquerade in the family `inet`? */
  readonly inetNat: boolean
  /** The container's chain when iptables masquerades; undefined when nftables does. */
  readonly natChain?: string | undefined
}

export interface Desire {
  readonly options: NetworkOptions
  readonly attachment: Attachment
  readonly ends: Ends
  readonly assigned: readonly Assigned[]
  readonly routes: readonly RouteText[]
  /** False when another IPAM plugin keeps the addresses. */
  readonly ownStore: boolean
}

export function describe(desire: Desire): readonly Resource[] {
  const { options, attachment, ends, assigned } = desire
  const { ifname } = attachment
  return [
    ...(desire.ownStore
      ? assigned.map(({ cidr }) => ({ kind: 'reservation', address: formatIp(cidr.ip), attachment }) as const)
      : []),
    { kind: 'veth', ...pick(ends), ifname, mtu: options.mtu },
    {
      kind: 'bridge',
      name: options.bridge,
      mac: ends.bridgeMac,
      mtu: options.mtu,
      promisc: options.promiscMode,
      ...(needsVlanFiltering(options) ? { vlanFiltering: true } : {}),
    },
    ...gatewaysOf(desire),
    {
      kind: 'port',
      host: ends.host,
      bridge: options.bridge,
      hairpin: options.hairpinMode,
      isolated: options.portIsolation,
    },
    ...vlansOf(ends.host, options),
    {
      kind: 'link',
      ifname,
      host: ends.host,
      mac: ends.mac,
      mtu: options.mtu,
      ...(options.disableContainerInterface ? { staysDown: true } : {}),
    },
    ...assigned.map(({ cidr }) => ({ kind: 'address', ifname, cidr, dad: options.enabledad }) as const),
    ...resolveRoutes(desire.routes, assigned, ifname),
    ...masquerading(desire),
    ...(options.macspoofchk ? [{ kind: 'spoofcheck', host: ends.host, mac: ends.mac, attachment } as const] : []),
  ]
}

/** Where the gateways' addresses are, and what they need to be reached and to forward. */
function gatewaysOf({ options, ends, assigned }: Desire): readonly Resource[] {
  const gateways = options.isGateway ? assigned.filter(({ gateway }) => gateway) : []
  if (gateways.length === 0) return []
  const device = gatewayDeviceOf(options)
  const own = options.vlan > 0 ? ends.vlanGateway : undefined
  return [
    ...(own ? vlanGatewayOf(options, own) : []),
    ...forwarding(device, gateways),
    ...gateways.map(
      ({ cidr, gateway }) =>
        ({
          kind: 'gateway',
          bridge: device,
          cidr: { ip: gateway as Ip, prefix: cidr.prefix },
          force: options.forceAddress,
        }) as const,
    ),
    ...gateways
      .filter(({ cidr }) => cidr.prefix === widthOf(cidr.ip.family))
      .map(({ cidr }) => ({ kind: 'hostRoute', address: cidr.ip, device }) as const),
    ...(own && (options.ipMasq4 || options.ipMasq6)
      ? [{ kind: 'untracked', bridge: options.bridge, gateway: device, mac: own.mac } as const]
      : []),
  ]
}

function masquerading({ options, attachment, ends, assigned }: Desire): readonly Resource[] {
  const chain = ends.natChain
  const families = ([4, 6] as const).filter((family) => (family === 4 ? options.ipMasq4 : options.ipMasq6))
  return families.flatMap((family): readonly Resource[] => {
    const pods = assigned.map(({ cidr }) => cidr).filter(({ ip }) => ip.family === family)
    const way = translationOf(options, family)
    if (pods.length === 0) return []
    if (chain !== undefined) return [{ kind: 'iptables', family, chain, attachment, pods, ...way }]
    const inet = ends.inetNat
    return pods.map((cidr) => ({
      kind: 'masquerade',
      address: cidr.ip,
      subnet: networkOf(cidr),
      attachment,
      inet,
      ...way,
    }))
  })
}

/**
 * How traffic of one family leaves.
 * @throws Fault 7 for a destination or an address that is none
 */
export function translationOf(
  { ipMasqExclude, snatTo }: Pick<NetworkOptions, 'ipMasqExclude' | 'snatTo'>,
  family: Family,
): Translation {
  const excluded = ipMasqExclude.map((text) => parseCidr(text) ?? refuse('ipMasqExclude', 'address/prefix', text))
  const sources = snatTo.map((text) => parseIp(text) ?? refuse('snatTo', 'an address', text))
  const exclude = excluded.filter(({ ip }) => ip.family === family).map(networkOf)
  const source = sources.find((ip) => ip.family === family)
  return { ...(exclude.length > 0 ? { exclude } : {}), ...(source ? { snatTo: source } : {}) }
}

function refuse(key: string, expected: string, found: string): never {
  throw new Fault(CODE.invalidConfig, `invalid ${key}`, `expected ${expected}; found ${JSON.stringify(found)}`)
}

function pick({ host, hostMac, mac, label, netns }: Ends) {
  return { host, hostMac, mac, label, netns }
}

/** A gateway forwards; and where the host switches IPv6 off on new devices, the bridge needs it all the same. */
function forwarding(bridge: string, gateways: readonly Assigned[]): readonly Resource[] {
  const has = (family: number) => gateways.some(({ cidr }) => cidr.ip.family === family)
  return [
    ...(has(4) ? ([{ kind: 'sysctl', key: 'net/ipv4/ip_forward', value: '1' }] as const) : []),
    ...(has(6)
      ? ([
          { kind: 'sysctl', key: `net/ipv6/conf/${bridge}/disable_ipv6`, value: '0' },
          { kind: 'sysctl', key: 'net/ipv6/conf/all/forwarding', value: '1' },
        ] as const)
      : []),
  ]
}
