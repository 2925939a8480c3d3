/** The keys of the configuration that Pontoon knows, with the values they may have. Built once, when it is loaded. */
import * as v from 'valibot'
import { keyed } from './keyed.ts'
import { hasPathSeparator, isSafePath, linkNameProblem } from './names.ts'

const text = v.string('a string')
const texts = v.array(text, 'a list of strings')
const flag = v.boolean('true or false')

/** Go's decoder knows no `0 or 68 to 65535`: 0 stands for "not set" in every number that has no other use for it. */
function whole(least: number, most: number, unset?: 0) {
  const message = `a whole number from ${least} to ${most}${unset === 0 && least > 0 ? ', or 0' : ''}`
  const fits = (value: unknown) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most
  return v.custom<number>((value) => fits(value) || value === unset, message)
}

const opt = v.exactOptional
const unsigned = whole(0, 0xffff_ffff)
const vlanID = whole(1, 4094)
const pluginName = v.pipe(
  text,
  v.check((value) => !hasPathSeparator(value), 'the name of a plugin, without a path'),
)

const range = keyed(
  { subnet: text, rangeStart: opt(text), rangeEnd: opt(text), gateway: opt(text) },
  'a range such as {"subnet": "10.1.0.0/16"}',
)
const rangeSets = v.array(v.array(range, 'a list of ranges'), 'a list of lists of ranges')

export const route = keyed(
  {
    dst: text,
    gw: opt(text),
    mtu: opt(unsigned),
    advmss: opt(unsigned),
    priority: opt(unsigned),
    table: opt(unsigned),
    scope: opt(whole(0, 255)),
  },
  'a route such as {"dst": "0.0.0.0/0"}',
)
export const routes = v.array(route, 'a list of routes')

export const dns = keyed(
  { nameservers: opt(texts), domain: opt(text), search: opt(texts), options: opt(texts) },
  'an object',
)

/** Keys of `ipam` when it is host-local's. Those of `range` at this level are the form with a single range. */
export const ipamSchema = keyed({
  type: opt(pluginName),
  subnet: opt(text),
  rangeStart: opt(text),
  rangeEnd: opt(text),
  gateway: opt(text),
  ranges: opt(rangeSets),
  routes: opt(routes),
  resolvConf: opt(text),
  dataDir: opt(v.pipe(text, v.check(isSafePath, 'an absolute path without ..'))),
})

const attachments = opt(
  v.array(keyed({ containerID: text, ifname: text }, 'an object with containerID and ifname'), 'a list of attachments'),
)

export const netConfSchema = keyed({
  type: opt(pluginName),
  bridge: opt(
    v.pipe(
      text,
      v.check(
        (value) => linkNameProblem(value) === undefined,
        ({ input }) => `the name of a network interface (this one ${linkNameProblem(input)})`,
      ),
    ),
  ),
  isGateway: opt(flag),
  isDefaultGateway: opt(flag),
  forceAddress: opt(flag),
  ipMasq: opt(flag),
  ipMasqBackend: opt(
    v.pipe(
      text,
      v.check((value) => value === 'iptables' || value === 'nftables', '"iptables" or "nftables"'),
    ),
  ),
  mtu: opt(whole(68, 65535, 0)),
  hairpinMode: opt(flag),
  promiscMode: opt(flag),
  vlan: opt(whole(1, 4094, 0)),
  vlanTrunk: opt(
    v.array(keyed({ minID: opt(vlanID), maxID: opt(vlanID), id: opt(vlanID) }, 'an object'), 'a list of VLANs'),
  ),
  preserveDefaultVlan: opt(flag),
  macspoofchk: opt(flag),
  enabledad: opt(flag),
  disableContainerInterface: opt(flag),
  portIsolation: opt(flag),
  dns: opt(dns),
  ipam: opt(v.custom<object>((value) => typeof value === 'object' && !Array.isArray(value), 'an object')),
  runtimeConfig: opt(keyed({ mac: opt(text), ips: opt(texts), ipRanges: opt(rangeSets) }, 'an object')),
  args: opt(keyed({ cni: opt(keyed({ mac: opt(text), ips: opt(texts) }, 'an object')) }, 'an object')),
  prevResult: opt(v.unknown()),
  'cni.dev/valid-attachments': attachments,
  'cni.dev/attachments': attachments,
  disableGC: opt(flag),
})

export type RawNetConf = v.InferOutput<typeof netConfSchema>
export type RawIpam = v.InferOutput<typeof ipamSchema>
export type RawDns = v.InferOutput<typeof dns>
