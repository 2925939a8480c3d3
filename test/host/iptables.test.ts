import { expect, test, vi } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { removalOf } from '../../src/core/nat.ts'
import { readNat, settleNat } from '../../src/host/iptables.ts'
import { followScripts, missing, script } from './scripted.ts'

vi.mock('#engine', async () => (await import('./scripted.ts')).engine)
followScripts()

const JUMP = 'POSTROUTING -s 10.9.0.2/32 -m comment --comment "name: \\"t\\" id: \\"a\\"" -j CNI-1'
const SAVED = `*nat\n:POSTROUTING ACCEPT [0:0]\n:CNI-1 - [0:0]\n-A ${JUMP}\nCOMMIT\n`
const REMOVAL = [`-D ${JUMP}`, '-F CNI-1', '-X CNI-1']

const restore = (lines: readonly string[], exit: object = {}, name = 'iptables') => ({
  argv: [`/usr/sbin/${name}-restore`, '--noflush', '-w', '15'],
  dialog: [{ told: `*nat\n${lines.join('\n')}\nCOMMIT\n` }],
  exit,
})
const save = (stdout: string, exit: object = {}, name = 'iptables') => ({
  argv: [`/usr/sbin/${name}-save`, '-t', 'nat'],
  exit: { stdout, ...exit },
})
const remove = () => settleNat(4, REMOVAL, (seen) => removalOf(seen, 'CNI-1', () => true))

test('all lines in one process, for either family', async () => {
  script(restore(REMOVAL), restore(['-N CNI-1'], {}, 'ip6tables'))
  await remove()
  await settleNat(6, ['-N CNI-1'], () => [])
})

/** The same refusal in the words of several versions, and of both kinds. */
const refusals = [
  {
    status: 2,
    stderr: "iptables-restore v1.8.9 (nf_tables): Chain 'CNI-1' does not exist\nError occurred at line: 2\n",
  },
  { status: 1, stderr: 'iptables-restore: line 2 failed: No chain/target/match by that name.\n' },
  { status: 1, stderr: "iptables-restore v1.8.7 (legacy): Couldn't load target `CNI-1':No such file or directory\n" },
  { status: 1, stderr: 'iptables-restore: Bad rule (does a matching rule exist in that chain?).\n' },
  { status: 4, stderr: 'iptables-restore: line 4 failed: Device or resource busy.\n' },
]

test.each(refusals)('refused ($stderr): it is looked what is there, and nothing is', async (exit) => {
  script(restore(REMOVAL, exit), save('*nat\nCOMMIT\n'))
  await remove()
})

test('what is there in part is removed in part', async () => {
  script(restore(REMOVAL, refusals[0]), save(':CNI-1 - [0:0]\n'), restore(['-F CNI-1', '-X CNI-1']))
  await remove()
})

test('what is there and is refused all the same is told after three attempts', async () => {
  const denied = { status: 4, stderr: 'iptables-restore: line 2 failed: Permission denied.\n' }
  const attempt = [save(SAVED), restore(REMOVAL, denied)]
  script(restore(REMOVAL, denied), ...attempt, ...attempt, ...attempt)
  await expect(remove()).rejects.toThrow(
    expect.objectContaining({ code: CODE.kernel, message: expect.stringContaining('Permission denied') }),
  )
})

test.each([
  { status: 4, stderr: 'Another app is currently holding the xtables lock. Stopped waiting after 15s.\n' },
  { timedOut: true, status: 137 },
])('the lock was not to be had: told at once, to be tried again', async (exit) => {
  script(restore(REMOVAL, exit))
  const fault = { code: CODE.tryAgain, message: expect.stringContaining('/run/xtables.lock') }
  await expect(remove()).rejects.toThrow(expect.objectContaining(fault))
})

test.each([
  { why: 'the kernel has no such table', exit: { status: 3, stderr: "can't initialize iptables table `nat'" } },
  {
    why: 'the kernel has no nf_tables',
    exit: { status: 1, stderr: 'Failed to initialize nft: Protocol not supported' },
  },
])('$why: nothing is there', async ({ exit }) => {
  script(save('', exit))
  expect((await readNat(4)).rules).toEqual([])
})

test('without rights it is not said that nothing is there', async () => {
  script(save('', { status: 4, stderr: 'iptables-save: Permission denied (you must be root)\n' }))
  await expect(readNat(4)).rejects.toThrow(expect.objectContaining({ code: CODE.kernel }))
})

test('without iptables nothing of its can be there, and nothing is started', async () => {
  for (const tool of ['iptables-save', 'iptables-restore']) missing.add(tool)
  await settleNat(4, undefined, (seen) => removalOf(seen, 'CNI-1', () => true))
})
