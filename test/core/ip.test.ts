import { isIPv4, isIPv6 } from 'node:net'
import { Address4 } from 'ip-address'
import { expect, test } from 'vitest'
import { contains, formatCidr, formatIp, lastOf, networkOf, overlaps, parseCidr, parseIp } from '../../src/core/ip.ts'
import fc from '../properties.ts'
import { cidr, ip } from './seen.ts'

const canonical: [text: string, want: string][] = [
  ['0.0.0.0', '0.0.0.0'],
  ['10.9.0.2', '10.9.0.2'],
  ['255.255.255.255', '255.255.255.255'],
  ['::', '::'],
  ['::1', '::1'],
  ['FD00:0009:0:0:0:0:0:0002', 'fd00:9::2'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
  ['::ffff:10.9.0.2', '10.9.0.2'],
  ['::FFFF:0a09:0002', '10.9.0.2'],
  ['0:0:0:0:0:ffff:10.9.0.2', '10.9.0.2'],
]

test.each(canonical)('%s is written as %s', (text, want) => {
  expect(formatIp(ip(text))).toBe(want)
})

const refused = [
  '',
  ' ',
  '10.9.0',
  '10.9.0.2.1',
  '10.9.0.256',
  '10.9.0.02',
  '010.9.0.2',
  '0x0a.9.0.2',
  '10.9.0.2 ',
  ' 10.9.0.2',
  '10.9.0.2\n',
  '+10.9.0.2',
  '10..0.2',
  '10.9.0.2/24',
  '1e1.9.0.2',
  'lock',
  'fe80::1%eth0',
  '1::2::3',
  ':',
  ':::',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '12345::',
  'g::',
  'fd00::/64',
  '[fd00::1]',
  '::ffff:10.9.0.256',
]

test.each(refused)('%j is no address', (text) => {
  expect(parseIp(text)).toBeUndefined()
})

test('an IPv4 address that is written and read again is the same', () => {
  fc.assert(fc.property(fc.ipV4(), (text) => formatIp(ip(text)) === text))
})

test('an IPv6 address that is read and written again is the same', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), (value) => {
      const read = ip(formatIp({ family: 6, value }))
      return read.value === (read.family === 6 ? value : value & 0xffffffffn)
    }),
  )
})

test('any spelling of an IPv6 address becomes the one that the URL standard gives it', () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      const read = ip(text)
      fc.pre(read.family === 6)
      expect(`[${formatIp(read)}]`).toBe(canonicalHost(text))
    }),
  )
})

function canonicalHost(text: string): string {
  return new URL(`http://[${text}]`).hostname
}

test('an IPv4-mapped address is the IPv4 one', () => {
  fc.assert(
    fc.property(fc.ipV4(), (text) => {
      expect(ip(`::ffff:${text}`)).toEqual(ip(text))
      expect(ip(canonicalHost(`::ffff:${text}`).slice(1, -1))).toEqual(ip(text))
    }),
  )
})

const almostIpv4 = fc
  .array(
    fc.oneof(fc.integer({ min: 0, max: 300 }).map(String), fc.constantFrom('', '00', '01', '0x1', '1e2', ' 1', '+1')),
    {
      minLength: 3,
      maxLength: 5,
    },
  )
  .map((parts) => parts.join('.'))

test('what is an IPv4 address, and which one, is agreed upon with ip-address and Node', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), almostIpv4), (text) => {
      expect(parseIp(text) !== undefined).toBe(isIPv4(text))
      if (isIPv4(text)) expect(parseIp(text)?.value).toBe(new Address4(text).bigInt())
    }),
  )
})

test('whatever is read as an address is one for Node too', () => {
  const pieces = fc.constantFrom(
    '0',
    '1',
    'f',
    'ffff',
    '10',
    '255',
    '256',
    ':',
    '::',
    '.',
    '/',
    '%',
    ' ',
    '\n',
    'x',
    '-',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      expect(parseIp(text) === undefined || isIPv4(text) || isIPv6(text)).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test.each([
  ['10.9.0.2/24', '10.9.0.2/24'],
  ['10.9.0.2/0', '10.9.0.2/0'],
  ['10.9.0.2/32', '10.9.0.2/32'],
  ['FD00::2/64', 'fd00::2/64'],
  ['::ffff:10.9.0.2/24', '10.9.0.2/24'],
])('%s with its prefix length is %s', (text, want) => {
  expect(formatCidr(cidr(text))).toBe(want)
})

test.each([
  '10.9.0.2',
  '10.9.0.2/',
  '10.9.0.2/33',
  '10.9.0.2/-1',
  '10.9.0.2/2 4',
  '10.9.0.2/24/24',
  'fd00::/129',
  '/24',
])('%s is no address with a prefix length', (text) => {
  expect(parseCidr(text)).toBeUndefined()
})

test.each([
  ['10.9.0.77/24', '10.9.0.0/24', '10.9.0.255'],
  ['10.9.0.77/31', '10.9.0.76/31', '10.9.0.77'],
  ['10.9.0.77/32', '10.9.0.77/32', '10.9.0.77'],
  ['10.9.0.77/0', '0.0.0.0/0', '255.255.255.255'],
  ['fd00:9::77/64', 'fd00:9::/64', 'fd00:9::ffff:ffff:ffff:ffff'],
  ['fd00:9::77/127', 'fd00:9::76/127', 'fd00:9::77'],
])('%s is in %s, which ends with %s', (text, network, last) => {
  expect([formatCidr(networkOf(cidr(text))), formatIp(lastOf(cidr(text)))]).toEqual([network, last])
})

test.each([
  ['10.9.0.0/24', '10.9.0.255', true],
  ['10.9.0.0/24', '10.9.1.0', false],
  ['10.9.0.7/24', '10.9.0.1', true],
  ['0.0.0.0/0', '192.0.2.1', true],
  ['::/0', '192.0.2.1', false],
  ['fd00::/64', 'fd00::ffff', true],
  ['fd00::/64', 'fd00:0:0:1::', false],
])('%s holds %s: %s', (text, address, want) => {
  expect(contains(cidr(text), ip(address))).toBe(want)
})

test.each([
  ['10.9.0.0/24', '10.9.0.128/25', true],
  ['10.9.0.128/25', '10.9.0.0/24', true],
  ['10.9.0.0/25', '10.9.0.128/25', false],
  ['10.9.0.1/24', 'fd00::1/64', false],
])('%s and %s share an address: %s', (a, b, want) => {
  expect(overlaps(cidr(a), cidr(b))).toBe(want)
})
