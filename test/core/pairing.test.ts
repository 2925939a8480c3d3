import { expect, test } from 'vitest'
import { arePaired, holdsOneOf, isUnlabelledVeth } from '../../src/core/pairing.ts'
import type { SeenLink } from '../../src/core/resource.ts'
import { address, links } from './seen.ts'

function veth(parts: Partial<SeenLink>): SeenLink {
  return links({ veth1: { type: 'veth', index: 7, peer: 2, ...parts } }).get('veth1') as SeenLink
}

test.each<[name: string, link: Partial<SeenLink>, want: boolean]>([
  ['a veth', {}, true],
  ['a veth with an alias of somebody else', { alias: 'uplink' }, true],
  ['a veth of ours', { alias: 'pontoon:net1/c1/eth0' }, false],
  ['a bridge', { type: 'bridge' }, false],
])('may be the reference’s: %s', (_, link, want) => {
  expect(isUnlabelledVeth(veth(link))).toBe(want)
})

test.each<[name: string, inside: SeenLink | undefined, want: boolean]>([
  ['each names the other', veth({ index: 2, peer: 7 }), true],
  ['it names another', veth({ index: 2, peer: 8 }), false],
  ['it is another', veth({ index: 3, peer: 7 }), false],
  ['it is no veth', veth({ type: 'macvlan', index: 2, peer: 7 }), false],
  ['there is none', undefined, false],
])('two ends: %s', (_, inside, want) => {
  expect(arePaired(veth({}), inside)).toBe(want)
})

test.each<[addresses: string[], want: boolean | 'bare']>([
  [[], 'bare'],
  [['fe80::1/64'], 'bare'],
  [['10.9.0.2/24', 'fe80::1/64'], true],
  [['10.9.0.3/24'], false],
  [['10.9.0.22/24'], false],
])('%j has 10.9.0.2: %s', (addresses, want) => {
  expect(holdsOneOf(veth({ addresses: addresses.map((a) => address(a)) }), ['10.9.0.2', 'fd00::2'])).toBe(want)
})
