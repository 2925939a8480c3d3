/** The network configuration of the reference's `bridge` and `host-local`, read from stdin. */
import { CODE, Fault } from '../core/fault.ts'
import { conform, type JsonObject } from './conform.ts'
import { type Dns, toDns } from './dns.ts'
import type { Head } from './head.ts'
import { type Ipam, isOwnIpam, type RangeConf, type RangeSet, type RouteConf, toIpam } from './ipam.ts'
import { linkNameProblem } from './names.ts'
import { netConfSchema, type RawNetConf } from './netconf-schema.ts'
import type { Verb } from './version.ts'
import { mergeVlans, type VlanRange } from './vlans.ts'

export { type Dns, type Ipam, isOwnIpam, type RangeConf, type RangeSet, type RouteConf }

export interface NetConf {
  readonly cniVersion: string
  readonly name: string
  readonly type: string
  readonly bridge: string
  /** Also true when `isDefaultGateway` is. */
  readonly isGateway: boolean
  readonly isDefaultGateway: boolean
  readonly forceAddress: boolean
  /** Also true when `ipMasq4` or `ipMasq6` is. */
  readonly ipMasq: boolean
  /** The families that are masqueraded. */
  readonly ipMasq4: boolean
  readonly ipMasq6: boolean
  /** Destinations, with prefix lengths, that see the pod's own address. */
  readonly ipMasqExclude: readonly string[]
  /** The addresses that pods leave with, one a family, in place of the one of the interface they leave by. */
  readonly snatTo: readonly string[]
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

/** Addresses asked for in place of the next free one. */
export interface Wishes {
  readonly mac?: string
  readonly ips: readonly string[]
}

export interface AttachmentId {
  readonly containerID: string
  readonly ifname: string
}

const DEFAULT_BRIDGE = 'cni0'

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

function plainKeys(raw: RawNetConf) {
  return {
    type: raw.type ?? '',
    bridge: raw.bridge ?? DEFAULT_BRIDGE,
    isGateway: (raw.isGateway || raw.isDefaultGateway) ?? false,
    isDefaultGateway: raw.isDefaultGateway ?? false,
    forceAddress: raw.forceAddress ?? false,
    ipMasq: (raw.ipMasq4 ?? raw.ipMasq ?? false) || (raw.ipMasq6 ?? raw.ipMasq ?? false),
    ipMasq4: raw.ipMasq4 ?? raw.ipMasq ?? false,
    ipMasq6: raw.ipMasq6 ?? raw.ipMasq ?? false,
    ipMasqExclude: raw.ipMasqExclude ?? [],
    snatTo: raw.snatTo ?? [],
    ipMasqBackend: raw.ipMasqBackend as NetConf['ipMasqBackend'],
    mtu: raw.mtu ?? 0,
    hairpinMode: raw.hairpinMode ?? false,
    promiscMode: raw.promiscMode ?? false,
    vlan: raw.vlan ?? 0,
    preserveDefaultVlan: raw.preserveDefaultVlan ?? false,
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
  const keys = ['cni.dev/valid-attachments', 'cni.dev/attachments'] as const
  const given = raw[keys[0]] ?? raw[keys[1]]
  const isNull = Object.entries(object).some(
    ([key, value]) => value === null && (keys as readonly string[]).includes(key.toLowerCase()),
  )
  return { validAttachments: given ?? (isNull ? null : undefined) }
}

/** What the reference refuses, too: each key is right, but not beside the other. */
function refuseCombinations(conf: NetConf): void {
  const refuse = (keys: string, remedy: string) => {
    throw new Fault(CODE.invalidConfig, `network "${conf.name}": ${keys} can't be used together`, remedy)
  }
  if (conf.hairpinMode && conf.promiscMode) {
    refuse('hairpinMode and promiscMode', 'a promiscuous bridge hairpins by itself: remove one of the keys')
  }
  const gateway = `${conf.bridge}.${conf.vlan}`
  const problem = conf.vlan !== 0 && conf.isGateway && conf.ipam ? linkNameProblem(gateway) : undefined
  if (problem) {
    const remedy = `the gateway in the VLAN would be called ${gateway}, which ${problem}: give the bridge a shorter name`
    throw new Fault(CODE.invalidConfig, `network "${conf.name}": bridge, vlan and isGateway can't be used so`, remedy)
  }
  if (conf.disableContainerInterface && conf.ipam !== undefined) {
    refuse(
      'disableContainerInterface and ipam',
      'an interface that stays down has no addresses: remove one of the keys',
    )
  }
}
