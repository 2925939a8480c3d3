/** The network configuration of the reference's `bridge` and `host-local`, read from stdin. */
import { CODE, Fault } from '../core/fault.ts'
import { conform, isObject, type JsonObject, memberOf, show } from './conform.ts'
import { isIdentifier } from './names.ts'
import { ipamSchema, netConfSchema, type RawDns, type RawIpam, type RawNetConf } from './netconf-schema.ts'
import { OLDEST_VERSION, type Verb } from './version.ts'
import { mergeVlans, type VlanRange } from './vlans.ts'

export interface NetConf {
  readonly cniVersion: string
  readonly name: string
  readonly type: string
  readonly bridge: string
  /** Also true when `isDefaultGateway` is. */
  readonly isGateway: boolean
  readonly isDefaultGateway: boolean
  readonly forceAddress: boolean
  readonly ipMasq: boolean
  readonly ipMasqBackend: 'iptables' | 'nftables' | undefined
  /** 0: the kernel's default. */
  readonly mtu: number
  readonly hairpinMode: boolean
  readonly promiscMode: boolean
  /** 0: none. */
  readonly vlan: number
  /** Sorted and without overlaps; an empty list when the key is there and names no VLAN. */
  readonly vlanTrunk: readonly VlanRange[] | undefined
  readonly preserveDefaultVlan: boolean
  readonly macspoofchk: boolean
  readonly enabledad: boolean
  readonly disableContainerInterface: boolean
  readonly portIsolation: boolean
  readonly dns: Dns | undefined
  /** undefined: layer 2 only. */
  readonly ipam: Ipam | undefined
  readonly runtimeConfig: Wishes & { readonly ipRanges: readonly RangeSet[] }
  /** `args.cni` */
  readonly args: Wishes
  /** As it came; undefined when absent. */
  readonly prevResult: unknown
  /** null when the key is there with the value null; undefined when it is absent. */
  readonly validAttachments: readonly AttachmentId[] | null | undefined
  readonly disableGC: boolean
}

export interface Ipam {
  /** `host-local` when ranges are given without a type. */
  readonly type: string
  /** A single range at the level of `ipam` is the first set. */
  readonly ranges: readonly RangeSet[]
  readonly routes: readonly RouteConf[]
  /** '' when absent. */
  readonly resolvConf: string
  readonly dataDir: string
}

export interface RangeConf {
  readonly subnet: string
  readonly rangeStart?: string
  readonly rangeEnd?: string
  readonly gateway?: string
}
export type RangeSet = readonly RangeConf[]

export interface RouteConf {
  readonly dst: string
  readonly gw?: string
  readonly mtu?: number
  readonly advmss?: number
  readonly priority?: number
  readonly table?: number
  readonly scope?: number
}

export interface Dns {
  readonly nameservers: readonly string[]
  readonly domain: string
  readonly search: readonly string[]
  readonly options: readonly string[]
}

/** Addresses asked for in place of the next free one. */
export interface Wishes {
  readonly mac?: string
  readonly ips: readonly string[]
}

export interface AttachmentId {
  readonly containerID: string
  readonly ifname: string
}

/** What every verb needs, read before the version is known to be a supported one. */
export interface Head {
  readonly object: JsonObject
  readonly name: string
  readonly cniVersion: string
}

const DEFAULT_BRIDGE = 'cni0'
const DEFAULT_DATA_DIR = '/var/lib/cni/networks'
/** The `ipam.type`s that Pontoon serves itself. */
const OWN_IPAM: readonly string[] = ['host-local', 'pontoon']

export function isOwnIpam(type: string): boolean {
  return OWN_IPAM.includes(type)
}

/**
 * The configuration's JSON, with the network's name and the version.
 * @throws Fault code 6 when it is not a JSON object, or name or version is no string; code 7 when the name is missing
 *   or none that a network can have (specification 1.1.0, "Network configuration format")
 */
export function parseHead(text: string): Head {
  const object = parseObject(text)
  const name = stringOf(object, 'name')
  const cniVersion = stringOf(object, 'cniVersion') || OLDEST_VERSION
  if (name === '') {
    throw new Fault(CODE.invalidConfig, 'the network configuration has no name', 'give the network a name: "name"')
  }
  if (!isIdentifier(name)) {
    const remedy = 'a name starts with a letter or digit; letters, digits, underscore, dot and hyphen may follow'
    throw new Fault(CODE.invalidConfig, `network name ${show(name)} contains invalid characters`, remedy)
  }
  return { object, name, cniVersion }
}

/**
 * The whole configuration. DEL and GC have to clean up whatever became of the configuration: there a wrong value
 * counts as absent, but for those that say where to clean up, and for GC what to spare.
 * @throws Fault code 7 that names the keys
 */
export function parseNetConf(head: Head, verb: Verb): NetConf {
  const lenient = verb === 'DEL' || verb === 'GC'
  const vital = (path: string) =>
    path === 'bridge' || path === 'ipam.dataDir' || (verb === 'GC' && path.startsWith('cni.dev/'))
  const options = { of: `network "${head.name}"`, tolerate: (path: string) => lenient && !vital(path) }
  const raw = conform(netConfSchema, head.object, options)
  const conf: NetConf = {
    ...plainKeys(raw),
    ...gcKeys(head.object, raw),
    cniVersion: head.cniVersion,
    name: head.name,
    vlanTrunk: raw.vlanTrunk && mergeVlans(raw.vlanTrunk, options),
    ipam: toIpam(raw.ipam, options),
  }
  if (!lenient) refuseCombinations(conf)
  return conf
}

/** What VERSION works with: it needs no configuration. */
export function emptyNetConf(cniVersion: string): NetConf {
  return parseNetConf({ object: {}, name: '', cniVersion }, 'VERSION')
}

function parseObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = text.trim() === '' ? 'stdin is empty' : (error as Error).message
    throw new Fault(CODE.decode, 'the network configuration on stdin is not valid JSON', reason, { cause: error })
  }
  if (value === null) return {}
  if (isObject(value)) return value
  throw new Fault(CODE.decode, 'the network configuration on stdin is not a JSON object', `found ${show(value)}`)
}

function stringOf(object: JsonObject, key: string): string {
  const value = memberOf(object, key) ?? ''
  if (typeof value === 'string') return value
  throw new Fault(CODE.decode, `${key} of the network configuration is not a string`, `found ${show(value)}`)
}

function plainKeys(raw: RawNetConf) {
  return {
    type: raw.type ?? '',
    bridge: raw.bridge ?? DEFAULT_BRIDGE,
    isGateway: (raw.isGateway || raw.isDefaultGateway) ?? false,
    isDefaultGateway: raw.isDefaultGateway ?? false,
    forceAddress: raw.forceAddress ?? false,
    ipMasq: raw.ipMasq ?? false,
    ipMasqBackend: raw.ipMasqBackend as NetConf['ipMasqBackend'],
    mtu: raw.mtu ?? 0,
    hairpinMode: raw.hairpinMode ?? false,
    promiscMode: raw.promiscMode ?? false,
    vlan: raw.vlan ?? 0,
    preserveDefaultVlan: raw.preserveDefaultVlan ?? true,
    macspoofchk: raw.macspoofchk ?? false,
    enabledad: raw.enabledad ?? false,
    disableContainerInterface: raw.disableContainerInterface ?? false,
    portIsolation: raw.portIsolation ?? false,
    dns: toDns(raw.dns),
    runtimeConfig: { ips: [], ipRanges: [], ...raw.runtimeConfig },
    args: { ips: [], ...raw.args?.cni },
    prevResult: raw.prevResult,
    disableGC: raw.disableGC ?? false,
  }
}

/** `cni.dev/attachments` is the name that libcni used before the specification settled on the other. */
function gcKeys(object: JsonObject, raw: RawNetConf): Pick<NetConf, 'validAttachments'> {
  const given = raw['cni.dev/valid-attachments'] ?? raw['cni.dev/attachments']
  const isNull = object['cni.dev/valid-attachments'] === null || object['cni.dev/attachments'] === null
  return { validAttachments: given ?? (isNull ? null : undefined) }
}

export function toDns(raw: RawDns | undefined): Dns | undefined {
  const dns = { nameservers: [], domain: '', search: [], options: [], ...raw }
  const isEmpty = dns.domain === '' && [dns.nameservers, dns.search, dns.options].every((list) => list.length === 0)
  return isEmpty ? undefined : dns
}

interface IpamOptions {
  readonly of: string
  readonly tolerate: (path: string) => boolean
}

function toIpam(object: object | undefined, options: IpamOptions): Ipam | undefined {
  if (object === undefined) return undefined
  const type = memberOf(object as JsonObject, 'type') ?? ''
  // The keys of another IPAM plugin mean what that plugin says. Reading them is no more than a guess.
  const isForeign = typeof type === 'string' && type !== '' && !isOwnIpam(type)
  const tolerate = isForeign ? (path: string) => path !== 'ipam.type' || options.tolerate(path) : options.tolerate
  const raw = conform(ipamSchema, object as JsonObject, { of: options.of, at: 'ipam', tolerate })
  const ranges = [...singleRange(raw), ...(raw.ranges ?? [])]
  if (raw.type === undefined && ranges.length === 0 && raw.dataDir === undefined) return undefined
  return {
    type: raw.type ?? 'host-local',
    ranges,
    routes: (raw.routes ?? []).map(toRoute),
    resolvConf: raw.resolvConf ?? '',
    dataDir: raw.dataDir ?? DEFAULT_DATA_DIR,
  }
}

function singleRange({ subnet, rangeStart, rangeEnd, gateway }: RawIpam): RangeSet[] {
  if (subnet === undefined) return []
  return [[{ subnet, ...(rangeStart && { rangeStart }), ...(rangeEnd && { rangeEnd }), ...(gateway && { gateway }) }]]
}

/** Without the numbers that say "not set" by being 0. */
export function toRoute(raw: RouteConf): RouteConf {
  const isUnset = ([key, value]: [string, unknown]) => value === 0 && key !== 'table' && key !== 'scope'
  return Object.fromEntries(Object.entries(raw).filter((entry) => !isUnset(entry))) as unknown as RouteConf
}

/** What the reference refuses, too: each key is right, but not beside the other. */
function refuseCombinations(conf: NetConf): void {
  const refuse = (keys: string, remedy: string) => {
    throw new Fault(CODE.invalidConfig, `network "${conf.name}": ${keys} can't be used together`, remedy)
  }
  if (conf.vlan !== 0 && conf.vlanTrunk !== undefined && conf.vlanTrunk.length > 0) {
    refuse('vlan and vlanTrunk', 'a port is either untagged in one VLAN or a trunk: remove one of the keys')
  }
  if (conf.hairpinMode && conf.promiscMode) {
    refuse('hairpinMode and promiscMode', 'a promiscuous bridge hairpins by itself: remove one of the keys')
  }
  if (conf.disableContainerInterface && conf.ipam !== undefined) {
    refuse(
      'disableContainerInterface and ipam',
      'an interface that stays down has no addresses: remove one of the keys',
    )
  }
}
