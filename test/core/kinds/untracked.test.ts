import { expect, test } from 'vitest'
import { untracked } from '../../../src/core/kinds/untracked.ts'
import type { Of } from '../../../src/core/resource.ts'
import { seen } from '../seen.ts'

const want: Of<'untracked'> = { kind: 'untracked', bridge: 'br-a', gateway: 'br-a.100', mac: '02:00:00:00:00:09' }
const ELEMENT = 'inet pontoon vlan_gateways br-a . 02:00:00:00:00:09'

test('an element for the gateway, and constant rules where they are missing', () => {
  expect(untracked.create(want)).toEqual([
    {
      tool: 'nft',
      lines: ['add element inet pontoon vlan_gateways { "br-a" . 02:00:00:00:00:09 comment "br-a.100" }'],
      whenMissing: [
        'add table inet pontoon',
        'create set inet pontoon vlan_gateways { type ifname . ether_addr; }',
        'add chain inet pontoon bridged { type filter hook prerouting priority -300; }',
        'add rule inet pontoon bridged iifname . ether daddr @vlan_gateways notrack',
        'add rule inet pontoon bridged iifname . ether saddr @vlan_gateways notrack',
      ],
    },
  ])
  expect(untracked.remove(want)).toEqual([
    {
      tool: 'nft',
      lines: [
        'add element inet pontoon vlan_gateways { "br-a" . 02:00:00:00:00:09 comment "br-a.100" }',
        'delete element inet pontoon vlan_gateways { "br-a" . 02:00:00:00:00:09 }',
      ],
      whenMissing: [],
    },
  ])
})

test.each<[name: string, elements: string[], rules: string[], finding: object]>([
  ['nothing', [], [], { is: 'absent' }],
  ['there', [ELEMENT], ['inet pontoon vlan_gateways'], { is: 'present' }],
  ['of another hardware address', [`${ELEMENT.slice(0, -1)}8`], ['inet pontoon vlan_gateways'], { is: 'absent' }],
  [
    'the rules are gone',
    [ELEMENT],
    [],
    { is: 'different', want: 'a rule that leaves bridged packets untracked', have: 'none' },
  ],
])('inspect: %s', (_, elements, rules, finding) => {
  const filter = { elements: new Map(elements.map((element) => [element, 'br-a.100'])), served: new Set(rules) }
  expect(untracked.inspect(want, seen({ filter }))).toEqual(finding)
})
