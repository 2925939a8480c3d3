import { expect, test, vi } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { openTables, type Tables } from '../../src/host/nft-tables.ts'
import { readReferenceRules, removalLines, removeReferenceRules } from '../../src/host/reference-rules.ts'
import { followScripts, missing, NFT, script } from './scripted.ts'

vi.mock('#engine', async () => (await import('./scripted.ts')).engine)
followScripts()

const rule = (family: string, table: string, chain: string, handle: number, comment: string, right: unknown) => ({
  rule: { family, table, chain, handle, comment, expr: [{ match: { right } }, { accept: null }] },
})
const inet = [
  rule('inet', 'cni_plugins_masquerade', 'masq_checks', 6, 'aa-bb, net: t', '10.9.0.2'),
  rule('inet', 'cni_plugins_masquerade', 'masq_checks', 7, 'aa-cc, net: t', '10.9.0.3'),
  { chain: { family: 'inet', table: 'cni_plugins_masquerade', name: 'postrouting', hook: 'postrouting' } },
  {
    rule: {
      family: 'inet',
      table: 'cni_plugins_masquerade',
      chain: 'postrouting',
      handle: 5,
      expr: [{ goto: { target: 'masq_checks' } }],
    },
  },
]
const bridge = [
  { chain: { family: 'bridge', table: 'nat', name: 'PREROUTING', hook: 'prerouting' } },
  { chain: { family: 'bridge', table: 'nat', name: 'cni-br-iface-a-eth0' } },
  { chain: { family: 'bridge', table: 'nat', name: 'cni-br-iface-a-eth0-mac' } },
  rule('bridge', 'nat', 'PREROUTING', 9, 'macspoofchk-a-eth0', 'veth1'),
  rule('bridge', 'nat', 'cni-br-iface-a-eth0', 10, 'macspoofchk-a-eth0', 'veth1'),
]
const CHAINS = ['cni-br-iface-a-eth0', 'cni-br-iface-a-eth0-mac']

const list = (what: string, items: readonly object[]) => ({
  argv: ['/usr/sbin/nft', '-j', 'list', ...what.split(' ')],
  exit: { stdout: JSON.stringify({ nftables: items }) },
})
const tables = (...names: readonly (readonly [family: string, name: string])[]) =>
  list(
    'tables',
    names.map(([family, name]) => ({ table: { family, name } })),
  )
const look = [
  tables(['inet', 'cni_plugins_masquerade'], ['bridge', 'nat']),
  list('table inet cni_plugins_masquerade', inet),
  list('table bridge nat', bridge),
]
const nothing = tables(['inet', 'filter'])
const run = (lines: readonly string[], exit: object = {}) => ({
  argv: NFT,
  dialog: [{ told: `${lines.join('\n')}\n` }],
  exit,
})

const LINES = [
  'delete rule inet cni_plugins_masquerade masq_checks handle 6',
  'delete rule bridge nat PREROUTING handle 9',
  'flush chain bridge nat cni-br-iface-a-eth0',
  'delete chain bridge nat cni-br-iface-a-eth0',
  'flush chain bridge nat cni-br-iface-a-eth0-mac',
  'delete chain bridge nat cni-br-iface-a-eth0-mac',
]
const remove = (seen?: Tables) =>
  removeReferenceRules(
    (found) => removalLines(found, ({ comment }) => comment.startsWith('aa-bb') || comment.endsWith('a-eth0'), CHAINS),
    seen,
  )

test('rules by their comments, with what they are of', async () => {
  script(...look)
  const seen = await readReferenceRules()
  expect(seen.masquerade.map(({ of, isReached }) => [of, isReached])).toEqual([
    ['10.9.0.2', true],
    ['10.9.0.3', true],
  ])
  expect(seen.spoofJumps).toEqual([
    { target: 'bridge nat PREROUTING handle 9', comment: 'macspoofchk-a-eth0', of: 'veth1', isReached: true },
  ])
})

test('all of one attachment goes in one transaction: jumps before the chains that they lead to', async () => {
  script(...look, run(LINES))
  await remove()
})

test('somebody else was faster: it is looked again', async () => {
  const gone = { status: 1, stderr: 'Error: Could not process rule: No such file or directory\n' }
  script(...look, run(LINES, gone), nothing)
  await remove()
})

test('where nothing was found a moment ago, it is not looked again; what was found is looked at anew', async () => {
  script(nothing)
  await remove(await openTables())
  script(...look)
  const seen = await openTables()
  script(...look, run(LINES))
  await remove(seen)
})

test('another refusal is told', async () => {
  const denied = { status: 1, stderr: 'Error: Could not process rule: Operation not permitted\n' }
  script(...look, run(LINES, denied))
  await expect(remove()).rejects.toThrow(expect.objectContaining({ code: CODE.kernel }))
})

test('where there are no tables, nothing is run; where there is no nft, nothing is looked for', async () => {
  script(nothing)
  await remove()
  missing.add('nft')
  await remove()
})
