import { expect, test } from 'vitest'
import { vlan } from '../../../src/core/kinds/vlan.ts'
import type { Of, SeenVlan } from '../../../src/core/resource.ts'
import { seen } from '../seen.ts'

const access: Of<'vlan'> = { kind: 'vlan', port: 'veth1', vlan: 100, trunk: [], keepsDefault: true }
const ranges = [
  { min: 5, max: 5 },
  { min: 100, max: 199 },
]
const trunk: Of<'vlan'> = { ...access, vlan: 0, trunk: ranges }

const lines = (want: Of<'vlan'>) => vlan.create(want).map((op) => (op.tool === 'bridge' ? op.line : `not of bridge(8)`))

test.each<[name: string, want: Of<'vlan'>, lines: string[]]>([
  ['its own VLAN, untagged', access, ['vlan add dev veth1 vid 100 pvid untagged']],
  [
    'its own alone: whatever the bridge gave it goes, once its own is there',
    { ...access, keepsDefault: false },
    ['vlan add dev veth1 vid 100 pvid untagged', 'vlan del dev veth1 vid 1-99', 'vlan del dev veth1 vid 101-4094'],
  ],
  [
    'the first VLAN alone',
    { ...access, vlan: 1, keepsDefault: false },
    ['vlan add dev veth1 vid 1 pvid untagged', 'vlan del dev veth1 vid 2-4094'],
  ],
  [
    'the last VLAN alone',
    { ...access, vlan: 4094, keepsDefault: false },
    ['vlan add dev veth1 vid 4094 pvid untagged', 'vlan del dev veth1 vid 1-4093'],
  ],
  [
    'its own beside a trunk',
    { ...trunk, vlan: 50, keepsDefault: false },
    [
      'vlan add dev veth1 vid 5',
      'vlan add dev veth1 vid 50 pvid untagged',
      'vlan add dev veth1 vid 100-199',
      'vlan del dev veth1 vid 1-4',
      'vlan del dev veth1 vid 6-49',
      'vlan del dev veth1 vid 51-99',
      'vlan del dev veth1 vid 200-4094',
    ],
  ],
  ['a trunk: a line for each range', trunk, ['vlan add dev veth1 vid 5', 'vlan add dev veth1 vid 100-199']],
  [
    'a trunk without the default VLAN',
    { ...trunk, keepsDefault: false },
    [
      'vlan add dev veth1 vid 5',
      'vlan add dev veth1 vid 100-199',
      'vlan del dev veth1 vid 1-4',
      'vlan del dev veth1 vid 6-99',
      'vlan del dev veth1 vid 200-4094',
    ],
  ],
  [
    'a trunk of all VLANs: none is left to be removed',
    { ...trunk, trunk: [{ min: 1, max: 4094 }], keepsDefault: false },
    ['vlan add dev veth1 vid 1-4094'],
  ],
])('%s', (_, want, expected) => {
  expect(lines(want)).toEqual(expected)
  expect(vlan.remove(want)).toEqual([])
  expect(vlan.repair?.(want, seen())).toEqual(vlan.create(want))
})

const tagged = (min: number, max = min): SeenVlan => ({ min, max, pvid: false, untagged: false })
const own: SeenVlan = { min: 100, max: 100, pvid: true, untagged: true }
const former: SeenVlan = { min: 1, max: 1, pvid: false, untagged: true }
const native: SeenVlan = { min: 1, max: 1, pvid: true, untagged: true }

test.each<[name: string, want: Of<'vlan'>, have: SeenVlan[] | undefined, finding: object]>([
  ['no such port', access, undefined, { is: 'absent' }],
  ['its own, and the default VLAN that it keeps', access, [former, own], { is: 'present' }],
  [
    'the default VLAN that it does not keep',
    { ...access, keepsDefault: false },
    [former, own],
    { is: 'different', want: '100* (untagged)', have: '1 (untagged), 100* (untagged)' },
  ],
  ['not its own', access, [native], { is: 'different', want: '100* (untagged)', have: '1* (untagged)' }],
  ['its own, but tagged', access, [tagged(100)], { is: 'different', want: '100* (untagged)', have: '100' }],
  ['no VLAN', access, [], { is: 'different', want: '100* (untagged)', have: 'none' }],
  ['a trunk, and the VLAN of what is untagged', trunk, [native, tagged(5), tagged(100, 199)], { is: 'present' }],
  ['a trunk in pieces', trunk, [native, tagged(5), tagged(100, 149), tagged(150, 199)], { is: 'present' }],
  ['more than the trunk', trunk, [native, tagged(2, 4094)], { is: 'present' }],
  [
    'more than the trunk alone',
    { ...trunk, keepsDefault: false },
    [tagged(5), tagged(100, 200)],
    { is: 'different', want: '5, 100-199', have: '5, 100-200' },
  ],
  [
    'a trunk with a hole',
    trunk,
    [tagged(5), tagged(100, 149), tagged(151, 199)],
    { is: 'different', want: '5, 100-199', have: '5, 100-149, 151-199' },
  ],
])('inspect: %s', (_, want, have, finding) => {
  expect(vlan.inspect(want, seen({ vlans: new Map(have ? [['veth1', have]] : []) }))).toEqual(finding)
})
