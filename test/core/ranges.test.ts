import { expect, test } from 'vitest'
import { CODE, Fault } from '../../src/core/fault.ts'
import { formatIp } from '../../src/core/ip.ts'
import { describeRange, parseRangeSets, type RangeText, warnRanges } from '../../src/core/ranges.ts'
import fc from '../properties.ts'

interface Accepted {
  name: string
  range: RangeText
  /** The addresses from first to last, and the gateway. */
  want: [range: string, gateway: string | undefined]
}

const accepted: Accepted[] = [
  { name: 'a /24 alone', range: { subnet: '10.9.0.0/24' }, want: ['10.9.0.1-10.9.0.254', '10.9.0.1'] },
  { name: 'a /30', range: { subnet: '10.9.0.4/30' }, want: ['10.9.0.5-10.9.0.6', '10.9.0.5'] },
  { name: 'a /31 uses both', range: { subnet: '10.9.0.4/31' }, want: ['10.9.0.4-10.9.0.5', '10.9.0.4'] },
  { name: 'a /32 has no gateway', range: { subnet: '10.9.0.4/32' }, want: ['10.9.0.4-10.9.0.4', undefined] },
  {
    name: 'a /32 with its gateway elsewhere',
    range: { subnet: '10.9.0.4/32', gateway: '169.254.1.1' },
    want: ['10.9.0.4-10.9.0.4', '169.254.1.1'],
  },
  {
    name: 'an IPv6 /64: its last address is a host',
    range: { subnet: 'fd00:9::/64' },
    want: ['fd00:9::1-fd00:9::ffff:ffff:ffff:ffff', 'fd00:9::1'],
  },
  { name: 'a /126', range: { subnet: 'fd00:9::/126' }, want: ['fd00:9::1-fd00:9::3', 'fd00:9::1'] },
  { name: 'a /127 uses both', range: { subnet: 'fd00:9::/127' }, want: ['fd00:9::-fd00:9::1', 'fd00:9::'] },
  { name: 'a /128 has no gateway', range: { subnet: 'fd00:9::7/128' }, want: ['fd00:9::7-fd00:9::7', undefined] },
  {
    name: 'bounds and gateway of its own',
    range: { subnet: '10.9.0.0/24', rangeStart: '10.9.0.10', rangeEnd: '10.9.0.20', gateway: '10.9.0.254' },
    want: ['10.9.0.10-10.9.0.20', '10.9.0.254'],
  },
  {
    name: 'a range of one address',
    range: { subnet: '10.9.0.0/24', rangeStart: '10.9.0.10', rangeEnd: '10.9.0.10' },
    want: ['10.9.0.10-10.9.0.10', '10.9.0.1'],
  },
  {
    name: 'a gateway outside of the subnet',
    range: { subnet: '10.9.0.0/24', gateway: '192.0.2.1' },
    want: ['10.9.0.1-10.9.0.254', '192.0.2.1'],
  },
  {
    name: 'bounds that are the network and the broadcast address',
    range: { subnet: '10.9.0.0/24', rangeStart: '10.9.0.0', rangeEnd: '10.9.0.255' },
    want: ['10.9.0.0-10.9.0.255', '10.9.0.1'],
  },
]

test.each(accepted)('$name', ({ range, want }) => {
  const parsed = parseRangeSets([[range]])[0]?.[0]
  expect(parsed && [describeRange(parsed), parsed.gateway && formatIp(parsed.gateway)]).toEqual(want)
})

interface Refused {
  name: string
  sets: RangeText[][]
  message: string
  details: string
}

const refused: Refused[] = [
  {
    name: 'a subnet without prefix length',
    sets: [[{ subnet: '10.9.0.0' }]],
    message: 'invalid ipam.ranges[0][0].subnet',
    details: 'expected an address and a prefix length; found "10.9.0.0"',
  },
  {
    name: 'a subnet with host bits, told as it should be',
    sets: [[{ subnet: '10.9.0.7/24' }]],
    message: 'invalid ipam.ranges[0][0].subnet',
    details: 'expected no host bits, as in 10.9.0.0/24; found "10.9.0.7/24"',
  },
  {
    name: 'a start behind the end',
    sets: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.9', rangeEnd: '10.9.0.5' }]],
    message: 'invalid ipam.ranges[0][0]',
    details: 'expected rangeStart not behind rangeEnd; found "10.9.0.9 to 10.9.0.5"',
  },
  {
    name: 'a start behind the end that the subnet gives',
    sets: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.255' }]],
    message: 'invalid ipam.ranges[0][0]',
    details: 'expected rangeStart not behind rangeEnd; found "10.9.0.255 to 10.9.0.254"',
  },
  {
    name: 'a start outside of the subnet',
    sets: [[{ subnet: '10.9.0.0/24', rangeStart: '10.8.0.9' }]],
    message: 'invalid ipam.ranges[0][0].rangeStart',
    details: 'expected an address in 10.9.0.0/24; found "10.8.0.9"',
  },
  {
    name: 'an end of the other family',
    sets: [[{ subnet: '10.9.0.0/24', rangeEnd: 'fd00::9' }]],
    message: 'invalid ipam.ranges[0][0].rangeEnd',
    details: 'expected an address in 10.9.0.0/24; found "fd00::9"',
  },
  {
    name: 'an IPv6 gateway of an IPv4 subnet',
    sets: [[{ subnet: '10.9.0.0/24', gateway: 'fd00::1' }]],
    message: 'invalid ipam.ranges[0][0].gateway',
    details: 'expected an IPv4 address like the subnet; found "fd00::1"',
  },
  {
    name: 'an IPv4 gateway of an IPv6 subnet',
    sets: [[{ subnet: 'fd00::/64', gateway: '10.9.0.1' }]],
    message: 'invalid ipam.ranges[0][0].gateway',
    details: 'expected an IPv6 address like the subnet; found "10.9.0.1"',
  },
  {
    name: 'a gateway that is no address',
    sets: [[{ subnet: '10.9.0.0/24', gateway: 'router' }]],
    message: 'invalid ipam.ranges[0][0].gateway',
    details: 'expected an IPv4 address like the subnet; found "router"',
  },
  {
    name: 'an exclusion of the other family',
    sets: [[{ subnet: '10.9.0.0/24', exclude: ['10.9.0.7', 'fd00::1'] }]],
    message: 'invalid ipam.ranges[0][0].exclude[1]',
    details: 'expected an IPv4 address or prefix; found "fd00::1"',
  },
  {
    name: 'a set without ranges',
    sets: [[{ subnet: '10.9.0.0/24' }], []],
    message: 'invalid ipam.ranges[1]',
    details: 'a range set needs at least one range; found "it is empty"',
  },
  {
    name: 'a set of both families',
    sets: [[{ subnet: '10.9.0.0/24' }, { subnet: 'fd00::/64' }]],
    message: 'invalid ipam.ranges[0][1]',
    details: 'all ranges of a set are of one family; found "fd00::/64"',
  },
  {
    name: 'ranges of one set that overlap',
    sets: [[{ subnet: '10.9.0.0/24' }, { subnet: '10.9.0.128/25' }]],
    message: 'invalid ipam.ranges[0][1]',
    details: 'expected no address that ipam.ranges[0][0] has too; found "10.9.0.129-10.9.0.254"',
  },
  {
    name: 'ranges of different sets that share one address',
    sets: [
      [{ subnet: '10.9.0.0/24', rangeEnd: '10.9.0.50' }],
      [{ subnet: 'fd00::/64' }],
      [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.50' }],
    ],
    message: 'invalid ipam.ranges[2][0]',
    details: 'expected no address that ipam.ranges[0][0] has too; found "10.9.0.50-10.9.0.254"',
  },
]

test.each(refused)('$name is refused', ({ sets, message, details }) => {
  expect(() => parseRangeSets(sets)).toThrow(expect.objectContaining({ code: CODE.invalidConfig, message, details }))
})

test('the order of overlapping ranges does not matter', () => {
  const upper = { subnet: '10.9.0.0/24', rangeStart: '10.9.0.50' }
  const lower = { subnet: '10.9.0.0/24', rangeEnd: '10.9.0.50' }
  expect(() => parseRangeSets([[upper], [lower]])).toThrow('invalid ipam.ranges[1][0]')
  expect(() => parseRangeSets([[lower], [upper]])).toThrow('invalid ipam.ranges[1][0]')
})

test('one subnet may be in several sets, when their ranges have no address in common', () => {
  const sets = parseRangeSets([
    [{ subnet: '10.9.0.0/24', rangeEnd: '10.9.0.50' }],
    [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.51' }],
    [{ subnet: 'fd00::/64' }],
  ])
  expect(sets.map((set) => set.map(describeRange))).toEqual([
    ['10.9.0.1-10.9.0.50'],
    ['10.9.0.51-10.9.0.254'],
    ['fd00::1-fd00::ffff:ffff:ffff:ffff'],
  ])
})

test.each<[name: string, range: RangeText, want: string[]]>([
  ['the defaults', { subnet: '10.9.0.0/24' }, []],
  ['a /31', { subnet: '10.9.0.0/31' }, []],
  ['a /32', { subnet: '10.9.0.0/32' }, []],
  ['IPv6', { subnet: 'fd00::/64', rangeStart: 'fd00::' }, []],
  [
    'a range of the broadcast address alone',
    { subnet: '10.1.2.0/24', rangeStart: '10.1.2.255', rangeEnd: '10.1.2.255' },
    ["range 10.1.2.255-10.1.2.255 holds 10.1.2.255, which is no host's address"],
  ],
  [
    'a range of all addresses',
    { subnet: '10.1.2.0/30', rangeStart: '10.1.2.0', rangeEnd: '10.1.2.3' },
    [
      "range 10.1.2.0-10.1.2.3 holds 10.1.2.0, which is no host's address",
      "range 10.1.2.0-10.1.2.3 holds 10.1.2.3, which is no host's address",
    ],
  ],
])('what is warned of: %s', (_, range, want) => {
  expect(warnRanges(parseRangeSets([[range]]))).toEqual(want)
})

test('whatever is written, it is accepted whole or refused with a code', () => {
  const addresses = fc.oneof(fc.ipV4(), fc.constantFrom('10.9.0.1', '10.9.0.9', '10.9.0.255', 'fd00::1', '', 'x'))
  const subnets = fc.oneof(fc.constantFrom('10.9.0.0/24', '10.9.0.8/29', 'fd00::/64'), fc.string({ maxLength: 6 }))
  const ranges = fc.record({ subnet: subnets, rangeStart: addresses, rangeEnd: addresses, gateway: addresses })
  fc.assert(
    fc.property(fc.array(fc.array(ranges, { maxLength: 2 }), { maxLength: 2 }), (sets) => {
      try {
        for (const range of parseRangeSets(sets).flat()) expect(range.first.value <= range.last.value).toBe(true)
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== CODE.invalidConfig) throw error
      }
    }),
  )
})
