/** The key `ipam`: what `host-local` reads of it. */
import { conform, type JsonObject, memberOf } from './conform.ts'
import { ipamSchema, type RawIpam } from './netconf-schema.ts'

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
  readonly exclude?: readonly string[]
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

const DEFAULT_DATA_DIR = '/var/lib/cni/networks'
/** The `ipam.type`s that Pontoon serves itself. */
const OWN_IPAM: readonly string[] = ['host-local', 'pontoon']

export function isOwnIpam(type: string): boolean {
  return OWN_IPAM.includes(type)
}

interface IpamOptions {
  readonly of: string
  readonly tolerate: (path: string) => boolean
}

/** @throws Fault code 7 that names the keys */
export function toIpam(object: object | undefined, options: IpamOptions): Ipam | undefined {
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

function singleRange({ subnet, rangeStart, rangeEnd, gateway, exclude }: RawIpam): RangeSet[] {
  if (subnet === undefined) return []
  return [
    [
      {
        subnet,
        ...(rangeStart && { rangeStart }),
        ...(rangeEnd && { rangeEnd }),
        ...(gateway && { gateway }),
        ...(exclude && { exclude }),
      },
    ],
  ]
}

/** Without the numbers that say "not set" by being 0. */
export function toRoute(raw: RouteConf): RouteConf {
  const isUnset = ([key, value]: [string, unknown]) => value === 0 && key !== 'table' && key !== 'scope'
  return Object.fromEntries(Object.entries(raw).filter((entry) => !isUnset(entry))) as unknown as RouteConf
}
