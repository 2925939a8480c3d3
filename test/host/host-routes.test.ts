import { expect, test } from 'vitest'
import { removalLines } from '../../src/host/host-routes.ts'

const seen = new Set(['10.9.0.2 cni0', '10.9.0.3 cni1', 'fd00:9::2 cni0.7', '10.9.0.4 cni01'])

test.each<[name: string, cidr: string, bridge: string, lines: string[]]>([
  ['a route by the bridge', '10.9.0.2/32', 'cni0', ['route del 10.9.0.2/32 dev cni0 proto 122']],
  ['a route by a VLAN gateway', 'fd00:9::2/128', 'cni0', ['route del fd00:9::2/128 dev cni0.7 proto 122']],
  ['a route by another bridge', '10.9.0.3/32', 'cni0', []],
  ['a route by a bridge whose name begins alike', '10.9.0.4/32', 'cni0', []],
  ['no route', '10.9.0.9/32', 'cni0', []],
])('%s', (_, cidr, bridge, lines) => {
  expect(removalLines(seen, [{ cidr, bridge }])).toEqual(lines)
})

test('two bridges had the address: the one that has the route now', () => {
  const routes = ['cni0', 'cni1'].map((bridge) => ({ cidr: '10.9.0.3/32', bridge }))
  expect(removalLines(seen, routes)).toEqual(['route del 10.9.0.3/32 dev cni1 proto 122'])
})
