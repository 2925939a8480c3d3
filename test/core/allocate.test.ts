import { expect, test } from 'vitest'
import { candidates, capacity, matchRequested } from '../../src/core/allocate.ts'
import { CODE } from '../../src/core/fault.ts'
import { formatIp, parseIp } from '../../src/core/ip.ts'
import { parseRangeSets, type RangeText } from '../../src/core/ranges.ts'
import { ip } from './seen.ts'

const setOf = (ranges: RangeText[]) => parseRangeSets([ranges])[0] ?? []
const tiny: RangeText = { subnet: '10.9.0.0/29' }
const other: RangeText = { subnet: '10.8.0.0/30' }
const third: RangeText = { subnet: '10.7.0.0/24', rangeStart: '10.7.0.8', rangeEnd: '10.7.0.9' }

interface Order {
  name: string
  ranges: RangeText[]
  last?: string
  want: string[]
}

const orders: Order[] = [
  {
    name: 'nothing was reserved yet: from the first, the gateway left out',
    ranges: [tiny],
    want: ['10.9.0.2', '10.9.0.3', '10.9.0.4', '10.9.0.5', '10.9.0.6'],
  },
  {
    name: 'round robin: from the one behind the last to that one itself',
    ranges: [tiny],
    last: '10.9.0.4',
    want: ['10.9.0.5', '10.9.0.6', '10.9.0.2', '10.9.0.3', '10.9.0.4'],
  },
  {
    name: 'the very last was reserved: it starts anew',
    ranges: [tiny],
    last: '10.9.0.6',
    want: ['10.9.0.2', '10.9.0.3', '10.9.0.4', '10.9.0.5', '10.9.0.6'],
  },
  {
    name: 'the last reserved is the gateway, whatever wrote it',
    ranges: [tiny],
    last: '10.9.0.1',
    want: ['10.9.0.2', '10.9.0.3', '10.9.0.4', '10.9.0.5', '10.9.0.6'],
  },
  {
    name: 'the last reserved is in no range any more: from the first',
    ranges: [other],
    last: '10.9.0.4',
    want: ['10.8.0.2'],
  },
  { name: 'the last reserved is of the other family', ranges: [other], last: 'fd00::9', want: ['10.8.0.2'] },
  {
    name: 'several ranges, in the order of the configuration',
    ranges: [third, other],
    want: ['10.7.0.8', '10.7.0.9', '10.8.0.2'],
  },
  {
    name: 'several ranges go round from the middle one',
    ranges: [tiny, other, third],
    last: '10.8.0.2',
    want: ['10.7.0.8', '10.7.0.9', '10.9.0.2', '10.9.0.3', '10.9.0.4', '10.9.0.5', '10.9.0.6', '10.8.0.2'],
  },
  {
    name: 'several ranges go round from within the last one',
    ranges: [other, third],
    last: '10.7.0.8',
    want: ['10.7.0.9', '10.8.0.2', '10.7.0.8'],
  },
  {
    name: 'a gateway in the middle is left out',
    ranges: [{ ...tiny, gateway: '10.9.0.4' }],
    want: ['10.9.0.1', '10.9.0.2', '10.9.0.3', '10.9.0.5', '10.9.0.6'],
  },
  {
    name: 'a gateway outside of the subnet costs nothing',
    ranges: [{ subnet: '10.9.0.4/31', gateway: '169.254.1.1' }],
    want: ['10.9.0.4', '10.9.0.5'],
  },
  {
    name: 'excluded ones are left out, single and by prefix, each once',
    ranges: [{ subnet: '10.9.0.0/28', exclude: ['10.9.0.2', '10.9.0.8/29', '10.9.0.12/30', '10.9.0.2/32'] }],
    want: ['10.9.0.3', '10.9.0.4', '10.9.0.5', '10.9.0.6', '10.9.0.7'],
  },
  {
    name: 'excluded ones that hang over the ends of the range, and the gateway among them',
    ranges: [
      {
        subnet: '10.9.0.0/24',
        rangeStart: '10.9.0.6',
        rangeEnd: '10.9.0.13',
        gateway: '10.9.0.7',
        exclude: ['10.9.0.4/30', '10.9.0.12/30', '10.9.9.0/24'],
      },
    ],
    want: ['10.9.0.8', '10.9.0.9', '10.9.0.10', '10.9.0.11'],
  },
  {
    name: 'the last reserved is an excluded one, given to who asked for it',
    ranges: [{ ...tiny, exclude: ['10.9.0.4/31'] }],
    last: '10.9.0.4',
    want: ['10.9.0.6', '10.9.0.2', '10.9.0.3'],
  },
  {
    name: 'all are excluded',
    ranges: [{ ...tiny, exclude: ['10.0.0.0/8'] }],
    want: [],
  },
  { name: 'the two of a /31: one is the gateway', ranges: [{ subnet: '10.9.0.4/31' }], want: ['10.9.0.5'] },
  { name: 'the one of a /32', ranges: [{ subnet: '10.9.0.4/32' }], want: ['10.9.0.4'] },
  {
    name: 'the only range is the gateway',
    ranges: [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.1', rangeEnd: '10.9.0.1' }],
    want: [],
  },
]

test.each(orders)('$name', ({ ranges, last, want }) => {
  const set = setOf(ranges)
  expect([...candidates(set, last ? parseIp(last) : undefined)].map((candidate) => formatIp(candidate.ip))).toEqual(
    want,
  )
})

test.each(orders)('capacity is what can be given: $name', ({ ranges, want }) => {
  expect(capacity(setOf(ranges))).toBe(BigInt(want.length))
})

test('a candidate knows its range', () => {
  const found = [...candidates(setOf([other, third]), undefined)]
  expect(found.map(({ ip, range }) => [formatIp(ip), range.subnet.prefix])).toEqual([
    ['10.8.0.2', 30],
    ['10.7.0.8', 24],
    ['10.7.0.9', 24],
  ])
})

test('the candidates of a /64 are not listed before they are asked for', () => {
  const { value } = candidates(setOf([{ subnet: 'fd00::/64' }]), ip('fd00::ffff:ffff:ffff:ffff')).next()
  expect(value && formatIp(value.ip)).toBe('fd00::2')
})

const sets = parseRangeSets([[tiny, third], [other], [{ subnet: 'fd00::/64' }]])

test.each<[name: string, asked: string[], want: (string | undefined)[]]>([
  ['nothing', [], [undefined, undefined, undefined]],
  ['one of the last set', ['fd00::9'], [undefined, undefined, 'fd00::9']],
  ['one of a second range', ['10.7.0.9'], ['10.7.0.9', undefined, undefined]],
  ['one of each, in any order', ['fd00::9', '10.8.0.2', '10.9.0.5'], ['10.9.0.5', '10.8.0.2', 'fd00::9']],
])('asked for: %s', (_, asked, want) => {
  expect(matchRequested(sets, asked.map(ip)).map((match) => match && formatIp(match.ip))).toEqual(want)
})

const everyRange = '10.9.0.1-10.9.0.6, 10.7.0.8-10.7.0.9, 10.8.0.1-10.8.0.2, fd00::1-fd00::ffff:ffff:ffff:ffff'

test('an excluded address is given to who asks for it', () => {
  const excluding = parseRangeSets([[{ ...tiny, exclude: ['10.9.0.5'] }]])
  expect(matchRequested(excluding, [ip('10.9.0.5')])).toMatchObject([{ ip: ip('10.9.0.5') }])
})

test.each<[name: string, asked: string[], address: string, details: string]>([
  ['the gateway', ['10.9.0.1'], '10.9.0.1', 'it is the gateway of its range'],
  ['one of no range', ['192.0.2.1'], '192.0.2.1', `it is in none of the ranges ${everyRange}`],
  ['two of one set', ['10.9.0.4', '10.9.0.5'], '10.9.0.5', `expected one address a range set, in ${everyRange}`],
  [
    'one that is in the subnet, but not in the range',
    ['10.7.0.77'],
    '10.7.0.77',
    `expected one address a range set, in ${everyRange}`,
  ],
])('asked for in vain: %s', (_, asked, address, details) => {
  expect(() => matchRequested(sets, asked.map(ip))).toThrow(
    expect.objectContaining({ code: CODE.invalidConfig, message: `address ${address} can't be given`, details }),
  )
})
