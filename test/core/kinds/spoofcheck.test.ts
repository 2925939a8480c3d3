import { expect, test } from 'vitest'
import { commentOf } from '../../../src/core/attachment.ts'
import { guardsOf, spoofcheck } from '../../../src/core/kinds/spoofcheck.ts'
import type { Of } from '../../../src/core/resource.ts'
import { attachment, seen } from '../seen.ts'

const want: Of<'spoofcheck'> = { kind: 'spoofcheck', host: 'veth1', mac: '02:00:00:00:00:03', attachment }
const mine = commentOf(attachment)
const PORT = 'bridge pontoon guarded_ports veth1'
const MAC = 'bridge pontoon guarded_macs veth1 . 02:00:00:00:00:03'

test('two elements that bear the owner, and constant rules where they are missing', () => {
  expect(spoofcheck.create(want)).toEqual([
    {
      tool: 'nft',
      lines: [
        `add element bridge pontoon guarded_ports { veth1 comment "${mine}" }`,
        `add element bridge pontoon guarded_macs { veth1 . 02:00:00:00:00:03 comment "${mine}" }`,
      ],
      whenMissing: [
        'add table bridge pontoon',
        'create set bridge pontoon guarded_ports { type ifname; }',
        'create set bridge pontoon guarded_macs { type ifname . ether_addr; }',
        'add chain bridge pontoon spoofcheck { type filter hook prerouting priority -300; }',
        'add rule bridge pontoon spoofcheck iifname @guarded_ports iifname . ether saddr != @guarded_macs drop',
        'add rule bridge pontoon spoofcheck meta protocol arp iifname @guarded_ports iifname . arp saddr ether != @guarded_macs drop',
      ],
    },
  ])
})

test('removed by their names, in one transaction that knows no "not there"', () => {
  expect(spoofcheck.remove(want)).toEqual([
    {
      tool: 'nft',
      lines: [
        'add element bridge pontoon guarded_ports { veth1 }',
        'delete element bridge pontoon guarded_ports { veth1 }',
        'add element bridge pontoon guarded_macs { veth1 . 02:00:00:00:00:03 }',
        'delete element bridge pontoon guarded_macs { veth1 . 02:00:00:00:00:03 }',
      ],
      whenMissing: [],
    },
  ])
  expect(guardsOf(want)).toEqual([PORT, MAC])
})

const served = new Set(['bridge pontoon guarded_ports', 'bridge pontoon guarded_macs'])

test.each<[name: string, elements: [string, string][], rules: ReadonlySet<string>, finding: object]>([
  ['nothing', [], served, { is: 'absent' }],
  [
    'both',
    [
      [PORT, mine],
      [MAC, mine],
    ],
    served,
    { is: 'present' },
  ],
  ['an old pod of that address', [['bridge pontoon guarded_ports veth2', mine]], served, { is: 'absent' }],
  [
    'another hardware address',
    [
      [PORT, mine],
      ['bridge pontoon guarded_macs veth1 . 02:00:00:00:00:04', mine],
    ],
    served,
    { is: 'different', want: 'frames from 02:00:00:00:00:03 alone', have: 'none let through' },
  ],
  [
    'the port is not looked at',
    [[MAC, mine]],
    served,
    { is: 'different', want: 'its frames looked at', have: 'all let through' },
  ],
  [
    'the rules are gone',
    [
      [PORT, mine],
      [MAC, mine],
    ],
    new Set(),
    { is: 'different', want: 'a rule that drops the others', have: 'none' },
  ],
  [
    "another attachment's",
    [
      [PORT, mine],
      [MAC, 'ffffffffffffffff, net: net1, if: eth0, id: c2'],
    ],
    served,
    { is: 'different', want: mine, have: 'ffffffffffffffff, net: net1, if: eth0, id: c2' },
  ],
])('inspect: %s', (_, elements, rules, finding) => {
  const filter = { elements: new Map(elements), served: rules }
  expect(spoofcheck.inspect(want, seen({ filter }))).toEqual(finding)
})
