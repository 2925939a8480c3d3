import { expect, test } from 'vitest'
import { deletionOf, elementOf, masquerade, setPrefix } from '../../src/core/kinds/masquerade.ts'
import type { Of } from '../../src/core/resource.ts'
import { attachment, cidr, ip, seen } from './seen.ts'

const four: Of<'masquerade'> = {
  kind: 'masquerade',
  address: ip('10.9.0.2'),
  subnet: cidr('10.9.0.0/24'),
  attachment,
  inet: true,
}
const six: Of<'masquerade'> = { ...four, address: ip('fd00:9::2'), subnet: cidr('fd00:9::/64') }
const comment = '451fbda28a818902, net: net1, if: eth0, id: c1'

interface Script {
  name: string
  want: Of<'masquerade'>
  element: string
  setUp: string[]
}

const scripts: Script[] = [
  {
    name: 'IPv4 in inet',
    want: four,
    element: `add element inet cni_plugins_masquerade pods-net1-10.9.0.0/24 { 10.9.0.2 comment "${comment}" }`,
    setUp: [
      'add table inet cni_plugins_masquerade',
      'add chain inet cni_plugins_masquerade masq_checks',
      'add chain inet cni_plugins_masquerade postrouting { type nat hook postrouting priority 100; }',
      'flush chain inet cni_plugins_masquerade postrouting',
      'add rule inet cni_plugins_masquerade postrouting ip daddr 224.0.0.0/4 return',
      'add rule inet cni_plugins_masquerade postrouting ip6 daddr ff00::/8 return',
      'add rule inet cni_plugins_masquerade postrouting goto masq_checks',
      'create set inet cni_plugins_masquerade pods-net1-10.9.0.0/24 { type ipv4_addr; comment "net: net1, 10.9.0.0/24"; }',
      'add rule inet cni_plugins_masquerade masq_checks ip saddr @pods-net1-10.9.0.0/24' +
        ' ip daddr != 10.9.0.0/24 masquerade comment "net: net1, 10.9.0.0/24"',
    ],
  },
  {
    name: 'IPv6 in inet',
    want: six,
    element: `add element inet cni_plugins_masquerade pods-net1-fd00_9__/64 { fd00:9::2 comment "${comment}" }`,
    setUp: [
      'add table inet cni_plugins_masquerade',
      'add chain inet cni_plugins_masquerade masq_checks',
      'add chain inet cni_plugins_masquerade postrouting { type nat hook postrouting priority 100; }',
      'flush chain inet cni_plugins_masquerade postrouting',
      'add rule inet cni_plugins_masquerade postrouting ip daddr 224.0.0.0/4 return',
      'add rule inet cni_plugins_masquerade postrouting ip6 daddr ff00::/8 return',
      'add rule inet cni_plugins_masquerade postrouting goto masq_checks',
      'create set inet cni_plugins_masquerade pods-net1-fd00_9__/64 { type ipv6_addr; comment "net: net1, fd00:9::/64"; }',
      'add rule inet cni_plugins_masquerade masq_checks ip6 saddr @pods-net1-fd00_9__/64' +
        ' ip6 daddr != fd00:9::/64 masquerade comment "net: net1, fd00:9::/64"',
    ],
  },
  {
    name: 'IPv4 in a table of its own family',
    want: { ...four, inet: false },
    element: `add element ip cni_plugins_masquerade pods-net1-10.9.0.0/24 { 10.9.0.2 comment "${comment}" }`,
    setUp: [
      'add table ip cni_plugins_masquerade',
      'add chain ip cni_plugins_masquerade masq_checks',
      'add chain ip cni_plugins_masquerade postrouting { type nat hook postrouting priority 100; }',
      'flush chain ip cni_plugins_masquerade postrouting',
      'add rule ip cni_plugins_masquerade postrouting ip daddr 224.0.0.0/4 return',
      'add rule ip cni_plugins_masquerade postrouting goto masq_checks',
      'create set ip cni_plugins_masquerade pods-net1-10.9.0.0/24 { type ipv4_addr; comment "net: net1, 10.9.0.0/24"; }',
      'add rule ip cni_plugins_masquerade masq_checks ip saddr @pods-net1-10.9.0.0/24' +
        ' ip daddr != 10.9.0.0/24 masquerade comment "net: net1, 10.9.0.0/24"',
    ],
  },
  {
    name: 'IPv6 in a table of its own family',
    want: { ...six, inet: false },
    element: `add element ip6 cni_plugins_masquerade pods-net1-fd00_9__/64 { fd00:9::2 comment "${comment}" }`,
    setUp: [
      'add table ip6 cni_plugins_masquerade',
      'add chain ip6 cni_plugins_masquerade masq_checks',
      'add chain ip6 cni_plugins_masquerade postrouting { type nat hook postrouting priority 100; }',
      'flush chain ip6 cni_plugins_masquerade postrouting',
      'add rule ip6 cni_plugins_masquerade postrouting ip6 daddr ff00::/8 return',
      'add rule ip6 cni_plugins_masquerade postrouting goto masq_checks',
      'create set ip6 cni_plugins_masquerade pods-net1-fd00_9__/64 { type ipv6_addr; comment "net: net1, fd00:9::/64"; }',
      'add rule ip6 cni_plugins_masquerade masq_checks ip6 saddr @pods-net1-fd00_9__/64' +
        ' ip6 daddr != fd00:9::/64 masquerade comment "net: net1, fd00:9::/64"',
    ],
  },
]

test.each(scripts)('$name', ({ want, element, setUp }) => {
  expect(masquerade.create(want)).toEqual([{ tool: 'nft', lines: [element], whenMissing: setUp }])
})

test.each([
  ['10.9.0.2', '/32', [], 'single/32', ''],
  ['fd00:9::2', '/128', [], 'single/128', ''],
  ['10.9.0.2', '/32', ['10.8.0.0/16'], 'single/32_701d86c1', 'ip daddr != 10.8.0.0/16 '],
])('pods whose subnet is their address share a set: %s%s, less %j', (address, length, exclude, name, others) => {
  const want = { ...four, address: ip(address), subnet: cidr(address + length), exclude: exclude.map(cidr) }
  const op = masquerade.create(want).find(({ tool }) => tool === 'nft')
  expect(elementOf(want)).toBe(`inet cni_plugins_masquerade pods-net1-${name} ${address}`)
  const family = address.includes(':') ? 'ip6' : 'ip'
  expect(op?.tool === 'nft' && op.whenMissing.at(-1)).toBe(
    `add rule inet cni_plugins_masquerade masq_checks ${family} saddr @pods-net1-${name} ${others}masquerade ` +
      `comment "net: net1, single${length}"`,
  )
})

test('removal takes what is not there for removed', () => {
  const element = 'element inet cni_plugins_masquerade pods-net1-10.9.0.0/24 { 10.9.0.2 }'
  expect(masquerade.remove(four)).toEqual([
    { tool: 'nft', lines: [`add ${element}`, `delete ${element}`], whenMissing: [] },
  ])
  expect(deletionOf(elementOf(four))).toEqual([`add ${element}`, `delete ${element}`])
})

test('a set tells its network, also from one whose name begins with it', () => {
  expect(elementOf(four).split(' ')[2]?.startsWith(setPrefix('net1'))).toBe(true)
  expect(elementOf(four).split(' ')[2]?.startsWith(setPrefix('net'))).toBe(false)
})

test('comments are cut at what nft keeps, and their quotes are closed', () => {
  const long = { network: 'n'.repeat(200), containerID: 'c'.repeat(64), ifname: 'eth0' }
  const op = masquerade.create({ ...four, attachment: long })[0]
  const lines = op?.tool === 'nft' ? [...op.lines, ...op.whenMissing] : []
  const comments = lines.flatMap((line) => [...line.matchAll(/comment "([^"]*)"/g)].map(([, text = '']) => text.length))
  expect(comments).toEqual([128, 128, 128])
})

const element = 'inet cni_plugins_masquerade pods-net1-10.9.0.0/24 10.9.0.2'
const served = new Set(['inet cni_plugins_masquerade pods-net1-10.9.0.0/24'])

test('the rules of the reference masquerade too', () => {
  expect(masquerade.inspect(four, seen({ masqueraded: new Set(['10.9.0.2']) }))).toEqual({ is: 'present' })
})

const SET = /pods-net1-10\.9\.0\.0\/24_[0-9a-f]{8}/
const lastRule = (want: Of<'masquerade'>) => {
  const op = masquerade.create(want)[0]
  return op?.tool === 'nft'
    ? op.whenMissing
        .at(-1)
        ?.replace(SET, 'SET')
        .replace(/ comment .*$/, '')
    : undefined
}
const RULE = 'add rule inet cni_plugins_masquerade masq_checks ip saddr @SET ip daddr !='

test.each<[name: string, want: Of<'masquerade'>, rule: string]>([
  [
    'destinations that see the pod’s own address',
    { ...four, exclude: [cidr('10.0.0.0/8'), cidr('192.168.0.0/16')] },
    `${RULE} { 10.9.0.0/24, 10.0.0.0/8, 192.168.0.0/16 } masquerade`,
  ],
  ['a fixed source address', { ...four, snatTo: ip('192.0.2.9') }, `${RULE} 10.9.0.0/24 snat ip to 192.0.2.9`],
  [
    'a fixed source address in a table of its own family',
    { ...four, inet: false, snatTo: ip('192.0.2.9') },
    `${RULE.replace('inet', 'ip')} 10.9.0.0/24 snat to 192.0.2.9`,
  ],
])('%s', (_, want, rule) => {
  expect(lastRule(want)).toBe(rule)
})

test('pods whose traffic leaves in another way are in a set of another name', () => {
  const ways: Of<'masquerade'>[] = [
    four,
    { ...four, exclude: [cidr('10.0.0.0/8')] },
    { ...four, exclude: [cidr('192.168.0.0/16')] },
    { ...four, snatTo: ip('192.0.2.9') },
    { ...four, exclude: [cidr('10.0.0.0/8')], snatTo: ip('192.0.2.9') },
  ]
  expect(new Set(ways.map(elementOf)).size).toBe(ways.length)
})

test('a rule that no packet comes to is no masquerading; what is made again is the way to it, not the rule', () => {
  const has = seen({ masquerade: { elements: new Map([[element, comment]]), served: new Set(), idle: served } })
  expect(masquerade.inspect(four, has)).toEqual({
    is: 'different',
    want: 'a rule that masquerades',
    have: 'one that is not reached',
  })
  const [op] = masquerade.repair?.(four, has) ?? []
  expect(op?.tool === 'nft' && op.whenMissing).toEqual(scripts[0]?.setUp.slice(0, 7))
})

test.each<[name: string, elements: [string, string][], served: ReadonlySet<string>, want: object]>([
  ['nothing is there', [], served, { is: 'absent' }],
  ['another address is there', [[element.replace(/2$/, '3'), comment]], served, { is: 'absent' }],
  ['element and rule are there', [[element, comment]], served, { is: 'present' }],
  ['what people read in the comment was cut', [[element, comment.slice(0, 20)]], served, { is: 'present' }],
  [
    'no rule looks into the set',
    [[element, comment]],
    new Set(['inet cni_plugins_masquerade pods-net2-10.9.0.0/24']),
    { is: 'different', want: 'a rule that masquerades', have: 'none' },
  ],
  ['a former owner’s name is on it', [[element, `f${comment.slice(1)}`]], served, { is: 'present' }],
])('inspect: %s', (_, elements, rules, want) => {
  const has = seen({ masquerade: { elements: new Map(elements), served: rules } })
  expect(masquerade.inspect(four, has)).toEqual(want)
})
