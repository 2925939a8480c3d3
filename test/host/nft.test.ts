import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { addElements, readMasquerade, removeElements, startNft } from '../../src/host/nft.ts'
import { type NftObject, parseMasquerade } from '../../src/host/nft-json.ts'
import { followScripts, missing, NFT, script } from './scripted.ts'

vi.mock('#engine', async () => (await import('./scripted.ts')).engine)
followScripts()

const recorded = readFileSync(join(import.meta.dirname, '../fixtures/tools/masquerade_nftables-1.0.6.json'), 'utf8')

const ADD = ['add element inet t s { 10.9.0.2 }']
const SETUP = ['add table inet t', 'create set inet t s { type ipv4_addr; }']
const SETUP6 = ['add table inet t', 'create set inet t s6 { type ipv6_addr; }']
const said = (text: string) => ({ status: 1, stderr: `/dev/stdin:1:18-39: Error: ${text}\nadd element …\n    ^^^^\n` })
const NOT_THERE = said('No such file or directory')
const NO_RULE = said('Could not process rule: No such file or directory')
const EXISTS = said('Could not process rule: File exists')
const UNSUPPORTED = said('Could not process rule: Operation not supported')
const DENIED = said('Could not process rule: Operation not permitted')

/** A run of nft with this script, and how it ends. */
const nft = (lines: readonly string[], exit: object = {}) => ({
  argv: NFT,
  dialog: [{ told: `${lines.join('\n')}\n` }],
  exit,
})

const adding = (...setUps: string[][]) => addElements(startNft(), ADD, setUps)

test('an element is added in one transaction', async () => {
  script(nft(ADD))
  await adding(SETUP)
})

test.each([NOT_THERE, NO_RULE])(
  'what the element stands on is missing: it is made, and the element again',
  async (exit) => {
    script(nft(ADD, exit), nft(SETUP), nft(ADD))
    await adding(SETUP)
  },
)

test('one of two sets is missing: that the other one exists is no failure', async () => {
  script(nft(ADD, NOT_THERE), nft(SETUP, EXISTS), nft(SETUP6), nft(ADD))
  await adding(SETUP, SETUP6)
})

test('another process makes the set at the same time: it is found made', async () => {
  script(nft(ADD, NOT_THERE), nft(SETUP, EXISTS), nft(ADD))
  await adding(SETUP)
})

test('somebody flushes the tables all the time: three attempts, then it is told', async () => {
  const attempt = [nft(SETUP), nft(ADD, NOT_THERE)]
  script(nft(ADD, NOT_THERE), ...attempt, ...attempt, ...attempt)
  await expect(adding(SETUP)).rejects.toThrow(
    expect.objectContaining({ code: CODE.kernel, message: 'nft: No such file or directory' }),
  )
})

test('a kernel without NAT is told as such, and not tried again', async () => {
  script(nft(ADD, NOT_THERE), nft(SETUP, UNSUPPORTED))
  await expect(adding(SETUP)).rejects.toThrow(
    expect.objectContaining({
      code: CODE.kernel,
      message: 'nft: Could not process rule: Operation not supported',
      details: expect.stringContaining('CONFIG_NFT_MASQ'),
    }),
  )
})

test('another failure is not tried again', async () => {
  script(nft(ADD, DENIED))
  await expect(adding(SETUP)).rejects.toThrow('nft: Could not process rule: Operation not permitted')
})

test.each<[name: string, exit: object, message: string]>([
  ['the deadline', { status: 137, timedOut: true }, 'nft: nft did not end within 25 s and was killed'],
  ['a status alone', { status: 3 }, 'nft: nft ended with status 3'],
  ['words of their own', { status: 127, stderr: 'nft: not found\nmore\n' }, 'nft: nft: not found'],
])('failures are told by %s', async (_, exit, message) => {
  script(nft(ADD, exit))
  await expect(adding(SETUP)).rejects.toThrow(message)
})

test.each([
  { name: 'hung', exit: { status: 137, timedOut: true }, code: CODE.tryAgain },
  { name: 'was killed', exit: { status: 137 }, code: CODE.tryAgain },
  { name: 'crashed', exit: { status: 139 }, code: CODE.kernel },
])('nft $name: code $code', async ({ exit, code }) => {
  script(nft(ADD, exit))
  await expect(adding(SETUP)).rejects.toThrow(expect.objectContaining({ code }))
})

test('a started nft that is not needed ends without a script', async () => {
  script({ argv: NFT })
  await startNft().drop()
})

test('without nft it is told which package has it', () => {
  missing.add('nft')
  expect(() => startNft()).toThrow(expect.objectContaining({ code: CODE.tool, message: 'the tool nft is missing' }))
})

const FIRST = ['add element inet t s { 10.9.0.2 }', 'delete element inet t s { 10.9.0.2 }']
const SECOND = ['add element inet t s { 10.9.0.3 }', 'delete element inet t s { 10.9.0.3 }']

test('elements are removed in one transaction', async () => {
  script(nft([...FIRST, ...SECOND]))
  await removeElements(startNft(), [FIRST, SECOND])
})

test('the table of the only element is gone: done', async () => {
  script(nft(FIRST, NOT_THERE))
  await removeElements(startNft(), [FIRST])
})

test('the table of one of two elements is gone: the other one is removed all the same', async () => {
  script(nft([...FIRST, ...SECOND], NOT_THERE), nft(FIRST, NOT_THERE), nft(SECOND))
  await removeElements(startNft(), [FIRST, SECOND])
})

test('a removal that is refused is told', async () => {
  script(nft(FIRST, DENIED))
  await expect(removeElements(startNft(), [FIRST])).rejects.toThrow(expect.objectContaining({ code: CODE.kernel }))
  script(nft([...FIRST, ...SECOND], NOT_THERE), nft(FIRST, DENIED))
  await expect(removeElements(startNft(), [FIRST, SECOND])).rejects.toThrow(
    expect.objectContaining({ code: CODE.kernel }),
  )
})

test('what nft lists is read: elements with their comments, and the sets that a rule looks into', () => {
  const { elements, served } = parseMasquerade(JSON.parse(recorded).nftables)
  expect(Object.fromEntries(elements)).toEqual({
    'inet cni_plugins_masquerade pods-net1-10.9.0.0/24 10.9.0.2': '0123456789abcdef, net: net1, if: eth0, id: c1',
    'inet cni_plugins_masquerade pods-net1-10.9.0.0/24 10.9.0.3': '',
    'inet cni_plugins_masquerade pods-net1-fd00_9__/64 fd00:9::2': '0123456789abcdef, net: net1, if: eth0, id: c1',
  })
  expect([...served]).toEqual(['inet cni_plugins_masquerade pods-net1-10.9.0.0/24'])
})

const SET = 'inet cni_plugins_masquerade pods-net1-10.9.0.0/24'

const withoutRules = (JSON.parse(recorded).nftables as NftObject[]).filter(({ rule }) => rule?.chain !== 'postrouting')

test.each([
  ['the chain behind the hook was flushed', withoutRules],
  ['the chain behind the hook is gone', withoutRules.filter(({ chain }) => chain?.name !== 'postrouting')],
])('a rule that no packet comes to serves nothing: %s', (_, objects) => {
  const { served, idle } = parseMasquerade(objects)
  expect([[...served], [...(idle ?? [])]]).toEqual([[], [SET]])
})

test('a rule may be reached by way of other chains', () => {
  const place = { family: 'inet', table: 'cni_plugins_masquerade' }
  const lead = (from: string, target: string): NftObject => ({
    rule: { ...place, chain: from, handle: 99, expr: [from === 'mine' ? { jump: { target } } : { goto: { target } }] },
  })
  const round = [lead('masq_checks', 'mine'), lead('mine', 'masq_checks')]
  expect([...parseMasquerade([...round, ...withoutRules]).served]).toEqual([])
  expect([...parseMasquerade([...round, ...withoutRules, lead('postrouting', 'mine')]).served]).toEqual([SET])
})

const list = (family: string, exit: object) => ({
  argv: ['/usr/sbin/nft', '-j', 'list', 'table', family, 'cni_plugins_masquerade'],
  exit,
})
const NO_TABLE = { status: 1, stderr: 'Error: No such file or directory\nlist table ip cni_plugins_masquerade\n' }

test('one table where the kernel has NAT in inet', async () => {
  script(list('inet', { stdout: recorded }))
  expect((await readMasquerade(true)).elements.size).toBe(3)
})

test('else two, of which one may be missing', async () => {
  script(list('ip', { stdout: recorded.replaceAll('"inet"', '"ip"') }), list('ip6', NO_TABLE))
  expect([...(await readMasquerade(false)).served]).toEqual(['ip cni_plugins_masquerade pods-net1-10.9.0.0/24'])
})

test('a table that can not be read is told', async () => {
  script(list('inet', { status: 1, stderr: 'Operation not permitted (you must be root)\n' }))
  await expect(readMasquerade(true)).rejects.toThrow('nft: Operation not permitted (you must be root)')
})
