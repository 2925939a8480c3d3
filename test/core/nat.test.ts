import { expect, test } from 'vitest'
import { iptables } from '../../src/core/kinds/iptables.ts'
import {
  appendLine,
  chainsOf,
  containerOf,
  deletionOf,
  isSameRule,
  jumpersOf,
  missingFrom,
  NO_NAT,
  natComment,
  parseNat,
  removalOf,
} from '../../src/core/nat.ts'
import type { Of } from '../../src/core/resource.ts'
import { attachment, cidr, ip, seen } from './seen.ts'

const COMMENT = String.raw`-m comment --comment "name: \"net1\" id: \"c1\""`
const JUMP = `-A POSTROUTING -s 10.9.0.2/32 ${COMMENT} -j CNI-1`
const STAY = `-A CNI-1 -d 10.9.0.0/24 ${COMMENT} -j ACCEPT`
const LEAVE = `-A CNI-1 ! -d 224.0.0.0/4 ${COMMENT} -j MASQUERADE`
const OTHER = String.raw`-A POSTROUTING -s 10.9.0.3/32 -m comment --comment "name: \"net1\" id: \"c2\"" -j CNI-2`

const saved = parseNat(
  [
    '*nat',
    ':PREROUTING ACCEPT [0:0]',
    ':POSTROUTING ACCEPT [0:0]',
    ':CNI-1 - [0:0]',
    ':CNI-2 - [0:0]',
    '-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE',
    JUMP,
    OTHER,
    STAY,
    LEAVE,
    'COMMIT',
  ].join('\n'),
)

test('only what is about chains of CNI plugins is read', () => {
  expect([...saved.chains]).toEqual(['CNI-1', 'CNI-2'])
  const comment = 'name: "net1" id: "c1"'
  expect(saved.rules.map(({ line: _, ...rule }) => rule)).toEqual([
    { chain: 'POSTROUTING', source: '10.9.0.2/32', destination: '', comment, target: 'CNI-1' },
    { chain: 'POSTROUTING', source: '10.9.0.3/32', destination: '', comment: 'name: "net1" id: "c2"', target: 'CNI-2' },
    { chain: 'CNI-1', source: '', destination: '10.9.0.0/24', comment, target: 'ACCEPT' },
    { chain: 'CNI-1', source: '', destination: '! 224.0.0.0/4', comment, target: 'MASQUERADE' },
  ])
})

test('nothing saved is nothing there', () => {
  expect(parseNat('')).toEqual(NO_NAT)
})

test('a rule that is read is written as it was printed', () => {
  expect(saved.rules.map(appendLine)).toEqual([JUMP, OTHER, STAY, LEAVE])
})

test('quotes and backslashes in a comment survive', () => {
  const rule = { chain: 'CNI-1', source: '', destination: '', comment: 'a "b" \\ c', target: 'ACCEPT' }
  const [read] = parseNat(appendLine(rule)).rules
  expect(read && isSameRule(read, rule)).toBe(true)
})

test('a fixed source address belongs to the target', () => {
  const line = `-A CNI-1 ! -d 224.0.0.0/4 ${COMMENT} -j SNAT --to-source 192.0.2.9`
  expect(parseNat(line).rules[0]?.target).toBe('SNAT --to-source 192.0.2.9')
  expect(parseNat(line).rules.map(appendLine)).toEqual([line])
})

test('a rule is another one by any of its parts', () => {
  const rule = { chain: 'CNI-1', source: 'a', destination: 'b', comment: 'c', target: 'd' }
  expect(isSameRule(rule, { ...rule })).toBe(true)
  const others = Object.keys(rule).map((part) => ({ ...rule, [part]: 'x' }))
  expect(others.map((other) => isSameRule(rule, other))).toEqual([false, false, false, false, false])
})

test('what is there is not made again; what stays inside comes before what leaves', () => {
  const second = `-A CNI-1 -d 10.8.0.0/24 ${COMMENT} -j ACCEPT`
  expect(missingFrom(saved, ['-N CNI-1', STAY, LEAVE, JUMP])).toEqual([])
  expect(missingFrom(saved, ['-N CNI-3', STAY, second])).toEqual(['-N CNI-3', second.replace('-A', '-I')])
  expect(missingFrom(NO_NAT, ['-N CNI-1', LEAVE, JUMP])).toEqual(['-N CNI-1', LEAVE, JUMP])
})

test('the chain goes with the last one that jumps to it', () => {
  const two = parseNat([':CNI-1 - [0:0]', JUMP, JUMP.replace('10.9.0.2', '10.9.0.9'), STAY].join('\n'))
  expect(jumpersOf(two, 'CNI-1')).toEqual(['10.9.0.2', '10.9.0.9'])
  expect(removalOf(two, 'CNI-1', (address) => address === '10.9.0.2')).toEqual([deletionOf(JUMP)])
  expect(removalOf(saved, 'CNI-1', () => true)).toEqual([deletionOf(JUMP), '-F CNI-1', '-X CNI-1'])
})

test('nothing is removed where nothing is', () => {
  expect(removalOf(saved, 'CNI-9', () => true)).toEqual([])
})

test('a comment names its network and its container', () => {
  expect(containerOf(natComment('net1', 'c1'), 'net1')).toBe('c1')
  expect(containerOf(natComment('net1', 'c1'), 'net')).toBeUndefined()
  expect(containerOf('somebody else', 'net1')).toBeUndefined()
  expect(natComment('n'.repeat(200), 'c'.repeat(64))).toHaveLength(255)
})

test('the chains of a network', () => {
  expect([...chainsOf(saved, 'net1')]).toEqual([
    ['CNI-1', 'c1'],
    ['CNI-2', 'c2'],
  ])
  expect([...chainsOf(saved, 'net2')]).toEqual([])
})

const want: Of<'iptables'> = { kind: 'iptables', family: 4, chain: 'CNI-1', attachment, pods: [cidr('10.9.0.2/24')] }

test('the kind makes the rules of the reference', () => {
  const lines = ['-N CNI-1', STAY, LEAVE, JUMP]
  expect(iptables.create(want)).toEqual([{ tool: 'iptables', family: 4, lines }])
  expect(iptables.remove(want)).toEqual([
    { tool: 'iptables', family: 4, lines: [deletionOf(JUMP), '-F CNI-1', '-X CNI-1'] },
  ])
})

test('IPv6, two addresses of one subnet, an exclusion and a fixed source address', () => {
  const pods = [cidr('fd00:9::2/64'), cidr('fd00:9::3/64')]
  const six = { ...want, family: 6, pods, exclude: [cidr('fd00::/16')], snatTo: ip('2001:db8::9') } as const
  expect(iptables.create(six)).toMatchObject([
    {
      family: 6,
      lines: [
        '-N CNI-1',
        `-A CNI-1 -d fd00:9::/64 ${COMMENT} -j ACCEPT`,
        `-A CNI-1 -d fd00::/16 ${COMMENT} -j ACCEPT`,
        `-A CNI-1 ! -d ff00::/8 ${COMMENT} -j SNAT --to-source 2001:db8::9`,
        `-A POSTROUTING -s fd00:9::2/128 ${COMMENT} -j CNI-1`,
        `-A POSTROUTING -s fd00:9::3/128 ${COMMENT} -j CNI-1`,
      ],
    },
  ])
})

test.each<[name: string, lines: string[], finding: object]>([
  ['nothing', [OTHER], { is: 'absent' }],
  ['all', [JUMP, OTHER, STAY, LEAVE], { is: 'present' }],
  ['one is gone', [JUMP, STAY], { is: 'different', want: `"${LEAVE}"`, have: 'none' }],
])('inspect: %s', (_, lines, finding) => {
  expect(iptables.inspect(want, seen({ nat: new Map([[4, parseNat(lines.join('\n')).rules]]) }))).toEqual(finding)
})
