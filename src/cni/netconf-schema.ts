/** The keys of the configuration that Pontoon knows, with the values they may have. */
import * as v from 'valibot'
import { hasPathSeparator, isSafePath, linkNameProblem } from './names.ts'
import { keyed, longList, opt, optFlag, optText, optTexts, optUnsigned, text, whole } from './values.ts'

const optPluginName = opt(
  v.pipe(
    text,
    v.check((value) => !hasPathSeparator(value), 'the name of a plugin, without a path'),
  ),
)

const range = keyed(
  { subnet: text, rangeStart: optText, rangeEnd: optText, gateway: optText, exclude: optTexts },
  'a range such as {"subnet": "10.1.0.0/16"}',
)
const optRangeSets = opt(v.array(v.array(range, 'a list of ranges'), 'a list of lists of ranges'))

const route = keyed(
  {
    dst: text,
    gw: optText,
    mtu: optUnsigned,
    advmss: optUnsigned,
    priority: optUnsigned,
    table: optUnsigned,
    scope: opt(whole(0, 255)),
  },
  'a route such as {"dst": "0.0.0.0/0"}',
)
export const optRoutes = opt(v.array(route, 'a list of routes'))

export const optDns = opt(keyed({ nameservers: optTexts, domain: optText, search: optTexts, options: optTexts }))

const optLog = opt(
  v.pipe(
    text,
    v.check((value) => value === 'journal' || isSafePath(value), 'an absolute path without .., or "journal"'),
  ),
)

const optPath = opt(v.pipe(text, v.check(isSafePath, 'an absolute path without ..')))

/** Keys of `ipam` when it is host-local's. Those of a range at this level are the form with a single range. */
export const ipamSchema = keyed({
  type: optPluginName,
  subnet: optText,
  rangeStart: optText,
  rangeEnd: optText,
  exclude: optTexts,
  gateway: optText,
  ranges: optRangeSets,
  routes: optRoutes,
  resolvConf: optText,
  dataDir: optPath,
})

const optBridge = opt(
  v.pipe(
    text,
    v.check(
      (value) => linkNameProblem(value) === undefined,
      ({ input }) => `the name of a network interface (this one ${linkNameProblem(input)})`,
    ),
  ),
)

const optBackend = opt(
  v.pipe(
    text,
    v.check((value) => value === 'iptables' || value === 'nftables', '"iptables" or "nftables"'),
  ),
)

const optVlan = opt(whole(1, 4094))
const optTrunk = opt(v.array(keyed({ minID: optVlan, maxID: optVlan, id: optVlan }), 'a list of VLANs'))

const attachment = keyed({ containerID: text, ifname: text }, 'an object with containerID and ifname')
const attachments = opt(longList(attachment, 'a list of attachments', isAttachment))

/** Exactly as it is to be written; further keys are never read. */
function isAttachment(value: unknown): boolean {
  const { containerID, ifname } = (value ?? {}) as Record<string, unknown>
  return typeof containerID === 'string' && containerID !== '' && typeof ifname === 'string' && ifname !== ''
}

export const netConfSchema = keyed({
  type: optPluginName,
  bridge: optBridge,
  isGateway: optFlag,
  isDefaultGateway: optFlag,
  forceAddress: optFlag,
  ipMasq: optFlag,
  ipMasq4: optFlag,
  ipMasq6: optFlag,
  ipMasqExclude: optTexts,
  snatTo: optTexts,
  ipMasqBackend: optBackend,
  mtu: opt(whole(68, 65535, 0)),
  hairpinMode: optFlag,
  promiscMode: optFlag,
  vlan: opt(whole(1, 4094, 0)),
  vlanTrunk: optTrunk,
  preserveDefaultVlan: optFlag,
  macspoofchk: optFlag,
  enabledad: optFlag,
  disableContainerInterface: optFlag,
  portIsolation: optFlag,
  dns: optDns,
  ipam: opt(v.custom<object>((value) => typeof value === 'object' && !Array.isArray(value), 'an object')),
  runtimeConfig: opt(keyed({ mac: optText, ips: optTexts, ipRanges: optRangeSets })),
  args: opt(keyed({ cni: opt(keyed({ mac: optText, ips: optTexts })) })),
  prevResult: opt(v.unknown()),
  'cni.dev/valid-attachments': attachments,
  'cni.dev/attachments': attachments,
  disableGC: optFlag,
  log: optLog,
})

export type RawNetConf = v.InferOutput<typeof netConfSchema>
export type RawIpam = v.InferOutput<typeof ipamSchema>
export type RawDns = v.InferOutput<typeof optDns>
