import { expect, test } from 'vitest'
import type { NftObject } from '../../src/host/nft-json.ts'
import { removalOf } from '../../src/verbs/gc-network.ts'

const table = 'inet cni_plugins_masquerade'
const set = (name: string, ...elem: string[]): NftObject => ({
  set: { family: 'inet', table: 'cni_plugins_masquerade', name, elem },
})
const rule = (chain: string, handle: number, right: unknown = 'x'): NftObject => ({
  rule: { family: 'inet', table: 'cni_plugins_masquerade', chain, handle, expr: [{ match: { right } }] },
})
const chain = (name: string): NftObject => ({ chain: { family: 'inet', table: 'cni_plugins_masquerade', name } })
const base: NftObject[] = [chain('masq_checks'), chain('postrouting'), rule('postrouting', 4), rule('postrouting', 5)]
const own = [set('pods-t-10.9.0.0/24'), rule('masq_checks', 7, '@pods-t-10.9.0.0/24')]
const partly = [`delete rule ${table} masq_checks handle 7`, `delete set ${table} pods-t-10.9.0.0/24`]

test('nothing else is in the table: it goes as a whole, unless somebody has written its hook anew', () => {
  expect(removalOf('inet', [...base, ...own], 't')).toEqual([
    [`delete rule ${table} postrouting handle 4`, `delete rule ${table} postrouting handle 5`, `delete table ${table}`],
    partly,
  ])
})

test.each<[name: string, more: NftObject[]]>([
  ['a set of another network', [set('pods-t-b-10.9.0.0/24'), rule('masq_checks', 9, '@pods-t-b-10.9.0.0/24')]],
  ['a rule of the reference', [rule('masq_checks', 9, '10.9.0.5')]],
  ['a chain of somebody', [chain('mine')]],
  ['a map of somebody', [{ map: { name: 'mine' } } as unknown as NftObject]],
  ['another set of the network that is in use', [set('pods-t-10.8.0.0/24', '10.8.0.2')]],
])('%s is in the table: only what is the network’s goes', (_, more) => {
  expect(removalOf('inet', [...base, ...own, ...more], 't')).toEqual([partly])
})

test.each<[name: string, objects: NftObject[]]>([
  ['there is no table', []],
  ['the network has no set', [...base, set('pods-u-10.9.0.0/24')]],
  ['its set is in use', [...base, set('pods-t-10.9.0.0/24', '10.9.0.2')]],
])('nothing goes when %s', (_, objects) => {
  expect(removalOf('inet', objects, 't')).toEqual([])
})
