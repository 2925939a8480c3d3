/** Requests that somebody made up to do harm, through the layers that decide: what comes out is harmless. */

import { expect, test } from 'vitest'
import { parseRequest, type Request } from '../src/cni/request.ts'
import { parseResult } from '../src/cni/result.ts'
import { type Candidate, candidates } from '../src/core/allocate.ts'
import { describe, translationOf } from '../src/core/describe.ts'
import { CODE, Fault } from '../src/core/fault.ts'
import { loadIpv6 } from '../src/core/ip.ts'
import { kindOf } from '../src/core/kinds.ts'
import { parseRangeSets } from '../src/core/ranges.ts'
import { resolveRoutes } from '../src/core/routes.ts'
import { callOf } from '../src/verbs/call.ts'
import { parseWish } from '../src/verbs/claim.ts'
import { chooseMac } from '../src/verbs/mac.ts'
import fc from './properties.ts'

await loadIpv6()

const words = [
  '-force', '--', 'type', 'dev', 'up', 'd', '..', '.', '', 'a\nlink del dev eth0', 'a\r\nb', 'a#b', 'a"b', "a'b", 'a\\b',
  'a b', 'a\tb', 'é', '网', '\ud800', 'a\0b', 'x'.repeat(15), 'x'.repeat(16), 'x'.repeat(4000), 'a/b', '/', '../../etc',
  'a/../b', '%d', 'a:b', 'a;b', '{ }', '@set', '$(id)', '\u2028', '__proto__', 'constructor', 'toString', 'hasOwnProperty',
  'eth0', 'lo', 'net1', 'cni0', '10.9.0.2', '10.9.0.0/24', 'fd00::/64', '::ffff:10.9.0.2', '010.9.0.2', '1e3', '0x10',
] // biome-ignore format: a list of words
const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...words) },
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ maxLength: 20 }),
)
const number = fc.oneof(
  fc.constantFrom(-1, 0, 1, 100, 4094, 4095, 65_535, 65_536, 2 ** 31, 2 ** 32, 2 ** 53, 1e308, 0.5, -0),
  fc.integer(),
)
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    word,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(word, tie('value'), { maxKeys: 3 }),
  ),
})).value

/** Mostly as it should be, sometimes anything. */
const mostly = (right: fc.Arbitrary<unknown>) => fc.oneof({ weight: 60, arbitrary: right }, value)
const good = <T>(...values: T[]) => mostly(fc.constantFrom(...values))
const numeric = (...values: number[]) => fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...values) }, number, value)
const keys = (entries: Record<string, fc.Arbitrary<unknown>>) => fc.record(entries, { requiredKeys: [] })

const range = keys({
  subnet: good('10.9.0.0/24', '10.9.0.0/29', 'fd00:9::/64', '10.1.1.0/31'),
  rangeStart: good('10.9.0.2'),
  rangeEnd: good('10.9.0.5'),
  gateway: good('10.9.0.1', 'fd00:9::1'),
  exclude: mostly(fc.array(good('10.9.0.3'), { maxLength: 2 })),
})
const route = keys({
  dst: good('0.0.0.0/0', '::/0', '192.0.2.0/24'),
  gw: good('10.9.0.1'),
  mtu: numeric(0, 1400), advmss: numeric(0, 77, 253), priority: numeric(0, 77, 253), table: numeric(0, 77, 253), scope: numeric(0, 77, 253),
}) // biome-ignore format: five of a kind
const configuration = fc.tuple(
  fc.record({ name: good('net1', 'net1-b'), cniVersion: good('1.1.0', '0.4.0', '0.2.0') }),
  keys({
    type: good('pontoon'),
    bridge: good('cni0', 'br-t'),
    isGateway: good(true),
    isDefaultGateway: good(true, false),
    ipMasq: good(true),
    ipMasqBackend: good('nftables', 'iptables'),
    ipMasqExclude: mostly(fc.array(good('192.0.2.0/24'), { maxLength: 2 })),
    snatTo: mostly(fc.array(good('192.0.2.1', 'fd00::1'), { maxLength: 2 })),
    mtu: numeric(0, 1400),
    vlan: numeric(0, 0, 0, 100),
    vlanTrunk: mostly(
      fc.array(keys({ minID: numeric(1, 100, 4094), maxID: numeric(1, 100, 4094), id: numeric(1, 100, 4094) }), {
        maxLength: 3,
      }),
    ),
    macspoofchk: good(true),
    preserveDefaultVlan: good(false),
    dns: mostly(keys({ nameservers: mostly(fc.array(word)), domain: word })),
    ipam: mostly(
      keys({
        type: good('host-local'),
        ranges: mostly(fc.array(mostly(fc.array(mostly(range), { maxLength: 2 })), { maxLength: 2 })),
        routes: mostly(fc.array(mostly(route), { maxLength: 3 })),
        dataDir: good('/var/lib/cni/networks', '/run/x'),
        resolvConf: good('/etc/resolv.conf'),
      }),
    ),
    runtimeConfig: mostly(
      keys({ mac: good('02:00:00:00:00:09'), ips: mostly(fc.array(good('10.9.0.4/24'), { maxLength: 2 })) }),
    ),
    args: mostly(keys({ cni: keys({ ips: mostly(fc.array(word, { maxLength: 2 })), mac: word }) })),
    prevResult: value,
    'cni.dev/valid-attachments': mostly(fc.array(keys({ containerID: word, ifname: word }), { maxLength: 3 })),
    disableGC: good(false),
  }),
)
const text = (...values: string[]) => fc.oneof({ weight: 40, arbitrary: fc.constantFrom(...values) }, word)
const request = fc.record({
  verb: text('ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION'),
  id: text('c1', 'pod-a'),
  ifname: text('eth0'),
  netns: text('/run/netns/a'),
  args: fc.oneof(
    fc.constantFrom('', 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=cart-0'),
    fc
      .tuple(word, word)
      .map(([namespace, name]) => `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name}`),
    word.map((ip) => `IP=${ip};MAC=${ip}`),
    word,
  ),
  conf: configuration,
})
type Made = typeof request extends fc.Arbitrary<infer T> ? T : never

function parse({ verb, id, ifname, netns, args, conf: [head, rest] }: Made): Request {
  const env: Record<string, string> = {
    CNI_COMMAND: verb,
    CNI_CONTAINERID: id,
    CNI_IFNAME: ifname,
    CNI_NETNS: netns,
    CNI_ARGS: args,
    CNI_PATH: '/opt/cni/bin',
  }
  return parseRequest(
    (name) => env[name],
    () => JSON.stringify({ ...head, ...rest }),
  )
}

/** What is thrown must be a Fault, with a code of those who call it wrong. */
function orFault<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    expect([
      CODE.incompatibleVersion,
      CODE.invalidEnvironment,
      CODE.decode,
      CODE.invalidConfig,
      CODE.conflict,
    ]).toContain(error.code)
    expect(error.message).not.toBe('')
    return undefined
  }
}

/** The literal lines of an ADD, and of its undoing. */
function linesOf(request: Request): { tool: string; text: string }[] {
  const call = callOf(request)
  const { netconf, attachment } = call
  const wish = parseWish(netconf, request.args.ips)
  const mac = chooseMac(request) ?? '02:00:00:00:00:03'
  resolveRoutes(netconf.ipam?.routes ?? [], [], request.ifname)
  for (const family of [4, 6] as const) translationOf(netconf, family)
  const assigned = wish.sets.map((set, i) => {
    const first = wish.asked[i] ?? (candidates(set, undefined).next().value as Candidate)
    return { cidr: { ip: first.ip, prefix: first.range.subnet.prefix }, gateway: first.range.gateway }
  })
  const ends = {
    host: call.hostVeth, hostMac: '02:00:00:00:00:02', mac, label: `pontoon:${attachment.network}/${attachment.containerID}/${attachment.ifname}${attachment.pod ? `/${attachment.pod}` : ''}`,
    netns: '/proc/7/fd/5', bridgeMac: '02:00:00:00:00:01', inetNat: true,
    natChain: netconf.ipMasqBackend === 'iptables' ? 'CNI-0123456789abcdef01234567' : undefined,
    ...(netconf.vlan > 0 ? { vlanGateway: { port: 'veth0', mac: '02:00:00:00:00:04' } } : {}),
  } // biome-ignore format: constants
  const routes = netconf.ipam?.routes ?? []
  const desired = describe({ options: netconf, attachment, ends, assigned, routes, ownStore: true })
  return desired.flatMap((resource) => {
    const kind = kindOf(resource)
    return [...kind.create(resource), ...kind.remove(resource)].flatMap((op) =>
      strings(op).map((text) => ({ tool: op.tool, text })),
    )
  })
}

function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : []
}

test('nothing that reaches a line of a tool is other than plain words; only Faults are thrown', () => {
  let made = 0
  fc.assert(
    fc.property(request, (given) => {
      const parsed = orFault(() => parse(given))
      if (parsed?.verb !== 'ADD') return
      for (const { tool, text } of orFault(() => linesOf(parsed)) ?? []) {
        made++
        if (tool === 'ip' || tool === 'bridge') expect(text).toMatch(/^[!-~]+( [!-~]+)*$/)
        else expect(text).toMatch(/^[ -~]*$/)
        expect(tool === 'ip' ? text : text.replace(/"[^"\\#]*"/g, '')).not.toMatch(/["'\\#]/)
      }
    }),
    { numRuns: 9000 },
  )
  expect(made, 'some of them get as far as that').toBeGreaterThan(1000)
})

test('no path leaves the folder of the network', () => {
  fc.assert(
    fc.property(request, (given) => {
      const parsed = orFault(() => parse(given))
      if (!parsed || parsed.verb === 'VERSION') return
      const call = callOf(parsed)
      const dataDir = parsed.netconf.ipam?.dataDir ?? '/var/lib/cni/networks'
      for (const [folder, top] of [
        [call.storeFolder, dataDir],
        [call.indexFolder, '/run/pontoon'],
      ] as const) {
        expect(folder.startsWith(`${top}/`)).toBe(true)
        expect(folder.slice(top.length + 1)).toMatch(/^[^/\0]+$/)
        expect(folder.split('/')).not.toContain('..')
      }
      expect(call.hostVeth).toMatch(/^veth[0-9a-f]{11}$/)
    }),
    { numRuns: 2000 },
  )
})

test('a former result, whatever it says, is read or left', () => {
  fc.assert(
    fc.property(value, (result) => void parseResult(result)),
    { numRuns: 1000 },
  )
})

test('ranges, whatever they say, are ranges or a Fault', () => {
  const texts = fc.array(
    fc.array(fc.record({ subnet: word }, { requiredKeys: ['subnet'] }), { minLength: 1, maxLength: 2 }),
    { maxLength: 2 },
  )
  fc.assert(
    fc.property(texts, (sets) => void orFault(() => parseRangeSets(sets))),
    { numRuns: 1000 },
  )
})

test.each([
  ['deep', '['.repeat(20_000) + ']'.repeat(20_000)],
  ['deep, in a key', `{"cniVersion":"1.1.0","name":"n","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ['two documents', '{"name":"n"}{"name":"m"}'],
  ['a list', '[{"name":"n"}]'],
  ['NUL in front', '\0{"name":"n"}'],
  ['a byte order mark', '\ufeff{"name":"n","cniVersion":"1.1.0"}'],
])('JSON that is %s is read or refused', (_, stdin) => {
  const env: Record<string, string> = { CNI_COMMAND: 'GC' }
  orFault(() =>
    parseRequest(
      (name) => env[name],
      () => stdin,
    ),
  )
})
