import { expect, test, vi } from 'vitest'
import { mayHaveNat } from '../../src/host/iptables.ts'
import { openTables, readRules } from '../../src/host/nft-tables.ts'
import { files, followScripts, missing, script } from './scripted.ts'

vi.mock('#engine', async () => (await import('./scripted.ts')).engine)
followScripts()

/** A run of nft that lists this, and what it prints. */
const listing = (what: string, ...nftables: object[]) => ({
  argv: ['/usr/sbin/nft', '-j', 'list', ...what.split(' ')],
  exit: { stdout: JSON.stringify({ nftables: [{ metainfo: {} }, ...nftables] }) },
})
const table = (family: string, name: string) => ({ table: { family, name, handle: 1 } })
const MASQUERADE = 'inet cni_plugins_masquerade'
const set = { set: { family: 'inet', table: 'cni_plugins_masquerade', name: 's', elem: ['10.9.0.2'] } }

test('tables that are not there are not listed', async () => {
  script(listing('tables', table('inet', 'filter'), table('ip', 'pontoon')))
  expect((await readRules(true)).elements.size).toBe(0)
})

test('those that are there are listed once, whoever asks', async () => {
  script(listing('tables', table('inet', 'cni_plugins_masquerade')), listing(`table ${MASQUERADE}`, set))
  const tables = await openTables()
  expect((await readRules(true, tables)).elements.has(`${MASQUERADE} s 10.9.0.2`)).toBe(true)
  expect(await tables?.read('inet', 'cni_plugins_masquerade')).toContainEqual(set)
})

test('a kernel without NAT in inet has two tables', async () => {
  const ip = { set: { ...set.set, family: 'ip' } }
  script(listing('tables', table('ip', 'cni_plugins_masquerade')), listing('table ip cni_plugins_masquerade', ip))
  expect([...(await readRules(false)).elements.keys()]).toEqual(['ip cni_plugins_masquerade s 10.9.0.2'])
})

test('a kernel without nf_tables has none; without nft nobody can tell', async () => {
  script({ argv: listing('tables').argv, exit: { status: 1, stderr: 'Error: Operation not supported' } })
  expect((await openTables())?.has('inet', 'filter')).toBe(false)
  missing.add('nft')
  expect(await openTables()).toBeUndefined()
})

test('what nft refuses is told', async () => {
  script({ argv: listing('tables').argv, exit: { status: 1, stderr: 'Operation not permitted (you must be root)' } })
  await expect(openTables()).rejects.toThrow('nft: Operation not permitted (you must be root)')
})

test.each<[name: string, tables: object[] | undefined, legacy: string | undefined, four: boolean, six: boolean]>([
  ['neither kind of iptables was ever used', [table('inet', 'nat')], undefined, false, false],
  ['the newer kind has a table of IPv4', [table('ip', 'nat')], undefined, true, false],
  ['the newer kind has a table of IPv6', [table('ip6', 'nat')], undefined, false, true],
  ['the older kind has a table of IPv4', [], 'filter\nnat\n', true, false],
  ['the older kind has other tables', [], 'mangle\nfilter\n', false, false],
  ['without nft nobody can tell', undefined, undefined, true, true],
])('NAT by iptables: %s', async (_, tables, legacy, four, six) => {
  if (tables) script(listing('tables', ...tables))
  else missing.add('nft')
  if (legacy) files.set('/proc/self/net/ip_tables_names', legacy)
  const seen = await openTables()
  expect([mayHaveNat(4, seen), mayHaveNat(6, seen)]).toEqual([four, six])
})
