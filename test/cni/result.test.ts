import { expect, test } from 'vitest'
import { appendResult, parseResult, type Result, renderResult } from '../../src/cni/result.ts'
import { isAtLeast, SUPPORTED_VERSIONS } from '../../src/cni/version.ts'
import fc from '../properties.ts'

const full: Result = {
  interfaces: [
    { name: 'cni0', mac: '02:00:00:00:00:01' },
    { name: 'veth1', mac: '02:00:00:00:00:02' },
    {
      name: 'eth0',
      mac: '02:00:00:00:00:03',
      mtu: 1500,
      sandbox: '/run/netns/a',
      socketPath: '/s',
      pciID: '0000:00:01.0',
    },
  ],
  ips: [
    { address: '10.1.0.2/16', gateway: '10.1.0.1', interface: 2 },
    { address: 'fd00::2/64', interface: 2 },
  ],
  routes: [
    { dst: '0.0.0.0/0', gw: '10.1.0.1', mtu: 1400, advmss: 1360, priority: 5, table: 0, scope: 0 },
    { dst: '::/0' },
  ],
  dns: { nameservers: ['10.0.0.1'], domain: 'a.b', search: ['b'], options: ['ndots:5'] },
}
const nothing: Result = { interfaces: [], ips: [], routes: [], dns: undefined }
const ipam: Result = { ...nothing, ips: [{ address: '10.1.0.2/16', gateway: '10.1.0.1' }] }

const dnsInOrderOfOld = '"dns":{"nameservers":["10.0.0.1"],"domain":"a.b","search":["b"],"options":["ndots:5"]}'
const dnsInOrderOfNew = '"dns":{"domain":"a.b","nameservers":["10.0.0.1"],"options":["ndots:5"],"search":["b"]}'

interface Case {
  name: string
  result: Result
  version: string
  want: string
}

const cases: Case[] = [
  {
    name: '0.2.0: one address of each family, with the routes of that family',
    result: full,
    version: '0.2.0',
    want:
      '{"cniVersion":"0.2.0","ip4":{"ip":"10.1.0.2/16","gateway":"10.1.0.1","routes":[{"dst":"0.0.0.0/0","gw":"10.1.0.1"}]},' +
      `"ip6":{"ip":"fd00::2/64","routes":[{"dst":"::/0"}]},${dnsInOrderOfOld}}`,
  },
  {
    name: '0.1.0: only the family that there is, and an empty dns',
    result: ipam,
    version: '0.1.0',
    want: '{"cniVersion":"0.1.0","ip4":{"ip":"10.1.0.2/16","gateway":"10.1.0.1"},"dns":{}}',
  },
  {
    name: '0.3.1: interfaces, and the family of each address',
    result: full,
    version: '0.3.1',
    want:
      '{"cniVersion":"0.3.1","interfaces":[{"name":"cni0","mac":"02:00:00:00:00:01"},{"name":"veth1","mac":"02:00:00:00:00:02"},' +
      '{"name":"eth0","mac":"02:00:00:00:00:03","sandbox":"/run/netns/a"}],' +
      '"ips":[{"version":"4","interface":2,"address":"10.1.0.2/16","gateway":"10.1.0.1"},' +
      '{"version":"6","interface":2,"address":"fd00::2/64"}],' +
      `"routes":[{"dst":"0.0.0.0/0","gw":"10.1.0.1"},{"dst":"::/0"}],${dnsInOrderOfOld}}`,
  },
  {
    name: '0.4.0: an IPAM result has no interfaces and no index, and an empty dns',
    result: ipam,
    version: '0.4.0',
    want: '{"cniVersion":"0.4.0","ips":[{"version":"4","address":"10.1.0.2/16","gateway":"10.1.0.1"}],"dns":{}}',
  },
  {
    name: '1.0.0: no family, no numbers of routes and interfaces',
    result: full,
    version: '1.0.0',
    want:
      `{"cniVersion":"1.0.0",${dnsInOrderOfNew},"interfaces":[{"mac":"02:00:00:00:00:01","name":"cni0"},` +
      '{"mac":"02:00:00:00:00:02","name":"veth1"},{"mac":"02:00:00:00:00:03","name":"eth0","sandbox":"/run/netns/a"}],' +
      '"ips":[{"address":"10.1.0.2/16","gateway":"10.1.0.1","interface":2},{"address":"fd00::2/64","interface":2}],' +
      '"routes":[{"dst":"0.0.0.0/0","gw":"10.1.0.1"},{"dst":"::/0"}]}',
  },
  {
    name: '1.0.0: an IPAM result has no interfaces, no index and no empty dns',
    result: ipam,
    version: '1.0.0',
    want: '{"cniVersion":"1.0.0","ips":[{"address":"10.1.0.2/16","gateway":"10.1.0.1"}]}',
  },
  {
    name: '1.1.0: everything',
    result: full,
    version: '1.1.0',
    want:
      `{"cniVersion":"1.1.0",${dnsInOrderOfNew},"interfaces":[{"mac":"02:00:00:00:00:01","name":"cni0"},` +
      '{"mac":"02:00:00:00:00:02","name":"veth1"},{"mac":"02:00:00:00:00:03","mtu":1500,"name":"eth0",' +
      '"pciID":"0000:00:01.0","sandbox":"/run/netns/a","socketPath":"/s"}],' +
      '"ips":[{"address":"10.1.0.2/16","gateway":"10.1.0.1","interface":2},{"address":"fd00::2/64","interface":2}],' +
      '"routes":[{"advmss":1360,"dst":"0.0.0.0/0","gw":"10.1.0.1","mtu":1400,"priority":5,"scope":0,"table":0},{"dst":"::/0"}]}',
  },
  { name: '1.1.0: nothing', result: nothing, version: '1.1.0', want: '{"cniVersion":"1.1.0"}' },
]

test.each(cases)('$name', ({ result, version, want }) => {
  const text = renderResult(result, version)
  expect(JSON.stringify(JSON.parse(text))).toBe(want)
})

test('the document is indented by four spaces and ends with its last brace', () => {
  expect(renderResult(nothing, '1.1.0')).toBe('{\n    "cniVersion": "1.1.0"\n}')
})

test.each([
  { name: 'no object', raw: 'x', want: nothing },
  { name: 'nothing', raw: undefined, want: nothing },
  { name: 'null', raw: null, want: nothing },
  {
    name: 'keys in odd spelling',
    raw: {
      Interfaces: [{ Name: 'eth0', Mac: '02:00:00:00:00:01' }],
      IPs: [{ Address: '10.1.0.2/16' }],
      DNS: { Domain: 'a' },
    },
    want: {
      interfaces: [{ name: 'eth0', mac: '02:00:00:00:00:01' }],
      ips: [{ address: '10.1.0.2/16' }],
      routes: [],
      dns: { nameservers: [], domain: 'a', search: [], options: [] },
    },
  },
  {
    name: 'the old form without a version',
    raw: { ip4: { ip: '10.1.0.2/16', gateway: '10.1.0.1', routes: [{ dst: '0.0.0.0/0' }] }, ip6: { ip: 'fd00::2/64' } },
    want: {
      ...nothing,
      ips: [{ address: '10.1.0.2/16', gateway: '10.1.0.1' }, { address: 'fd00::2/64' }],
      routes: [{ dst: '0.0.0.0/0' }],
    },
  },
  {
    name: 'wrong values among right ones, with the indices kept',
    raw: {
      interfaces: ['x', { name: 5 }, { name: 'eth0', mtu: 'x' }],
      ips: [{ gateway: '10.1.0.1' }, { address: '10.1.0.2/16', interface: 2, gateway: 7 }, null],
      routes: 'x',
      dns: 5,
    },
    want: {
      interfaces: [{ name: '' }, { name: '' }, { name: 'eth0' }],
      ips: [{ address: '10.1.0.2/16', interface: 2 }],
      routes: [],
      dns: undefined,
    },
  },
])('what can be understood is taken: $name', ({ raw, want }) => {
  expect(parseResult(raw)).toEqual(want)
})

test.each([
  { name: 'no object', raw: [], says: 'prevResult is not a JSON object' },
  { name: 'an address without one', raw: { ips: [{}] }, says: 'prevResult: ips[0].address is missing' },
  {
    name: 'an index of another type',
    raw: { ips: [{ address: 'a', interface: '2' }] },
    says: 'prevResult: ips[0].interface: expected',
  },
  {
    name: 'an interface of another type',
    raw: { interfaces: ['x'] },
    says: 'prevResult: interfaces[0]: expected an object',
  },
])('strict: refused is $name', ({ raw, says }) => {
  expect(() => parseResult(raw, { strict: true, of: 'prevResult' })).toThrow(
    expect.objectContaining({ code: 7, message: expect.stringContaining(says) }),
  )
})

const word = fc.stringMatching(/^[a-z0-9.]{1,12}$/)
const route = (dst: fc.Arbitrary<string>) =>
  fc.record({ dst, gw: word, mtu: fc.integer({ min: 1, max: 9000 }), table: fc.nat() }, { requiredKeys: ['dst'] })
const result: fc.Arbitrary<Result> = fc.record({
  interfaces: fc.array(fc.record({ name: word, mac: word, mtu: fc.nat(), sandbox: word }, { requiredKeys: ['name'] })),
  ips: fc
    .tuple(
      fc.array(fc.record({ address: fc.ipV4(), gateway: word, interface: fc.nat() }, { requiredKeys: ['address'] }), {
        minLength: 1,
      }),
      fc.array(fc.record({ address: fc.ipV6() }), { minLength: 1 }),
    )
    .map((families) => families.flat()),
  routes: fc.tuple(fc.array(route(fc.ipV4())), fc.array(route(fc.ipV6()))).map((families) => families.flat()),
  dns: fc.option(
    fc.record({ nameservers: fc.array(word), domain: word, search: fc.array(word), options: fc.array(word) }),
    { nil: undefined },
  ),
})

/** What the version has words for. */
function expressible({ interfaces, ips, routes, dns }: Result, version: string): Result {
  const first = (six: boolean) => ips.find(({ address }) => address.includes(':') === six)
  const old = [first(false), first(true)].flatMap((ip) => ip ?? []).map(({ interface: _, ...ip }) => ip)
  const hasNumbers = isAtLeast(version, '1.1.0')
  const hasInterfaces = isAtLeast(version, '0.3.0')
  return {
    interfaces: hasInterfaces
      ? interfaces.map(({ mtu, ...link }) => (hasNumbers && mtu !== undefined ? { ...link, mtu } : link))
      : [],
    ips: hasInterfaces ? ips : old,
    routes: hasNumbers ? routes : routes.map(({ dst, gw }) => (gw === undefined ? { dst } : { dst, gw })),
    dns,
  }
}

test.each(SUPPORTED_VERSIONS)(
  '%s: what is printed is read again, as far as the version has words for it',
  (version) => {
    fc.assert(
      fc.property(result, (before) => {
        const printed = JSON.parse(renderResult(before, version))
        expect(parseResult(printed, { strict: true })).toEqual(expressible(before, version))
      }),
    )
  },
)

test('any JSON is read without an error', () => {
  const keys = fc.constantFrom('interfaces', 'ips', 'ip4', 'ip6', 'routes', 'dns', 'cniVersion')
  fc.assert(fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(keys, fc.jsonValue())), (raw) => void parseResult(raw)))
})

test('behind a former result: it stays as it is, and the own interfaces are counted on from it', () => {
  const former = {
    interfaces: [{ name: 'lo', sandbox: '/run/netns/a' }],
    ips: [{ address: '127.0.0.1/8', interface: 0 }],
    routes: [{ dst: '192.0.2.0/24' }],
    dns: { nameservers: ['192.0.2.53'], domain: '', search: [], options: [] },
  }
  const own = {
    interfaces: [{ name: 'cni0' }, { name: 'veth0' }, { name: 'eth0', sandbox: '/run/netns/a' }],
    ips: [{ address: '10.9.0.2/24', interface: 2 }, { address: '10.9.0.3/24' }],
    routes: [{ dst: '0.0.0.0/0' }],
    dns: undefined,
  }
  expect(appendResult(former, own)).toEqual({
    interfaces: [...former.interfaces, ...own.interfaces],
    ips: [
      { address: '127.0.0.1/8', interface: 0 },
      { address: '10.9.0.2/24', interface: 3 },
      { address: '10.9.0.3/24' },
    ],
    routes: [...former.routes, ...own.routes],
    dns: former.dns,
  })
})
