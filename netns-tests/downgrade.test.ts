/** Pods that Pontoon made, after the node went back to the reference plugins; and both at work on one store. */
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import type { Json, Lab } from './lab.ts'
import { byReference, openMixedLab } from './mixed.ts'
import { files, packetFilter, store } from './observe.ts'
import {
  type Answer,
  type Attachment,
  add,
  addressesOf,
  type Call,
  callPlugin,
  conf,
  del,
  dualStack,
  startPatiently,
} from './plugin.ts'

const config = dualStack({ cniVersion: '1.0.0' })

/** Lines of the packet filter that name a pod, or its addresses. */
const rulesOf = (lab: Lab, ...marks: string[]) =>
  packetFilter(lab).filter((line) => marks.some((mark) => line.includes(mark)))

/** Debian's build takes a chain of iptables that was never there for a failure, the first time. */
function delByReference(lab: Lab, ours: Attachment, gone = false): void {
  const conf = { ...ours.conf, prevResult: ours.result }
  const call = { ...byReference, ...ours, conf, ...(gone ? { netns: '' } : {}) }
  const first = callPlugin(lab, 'DEL', call)
  if (first.status !== 0) expect(first.stdout).toMatch(/Chain '.*' does not exist/)
  expect(callPlugin(lab, 'DEL', call)).toMatchObject({ status: 0, stdout: '' })
}

const links = (lab: Lab) => lab.ip('-j link show').map(({ ifname }: Json) => ifname)

forEachExecutable((executable) => {
  describe.each([
    { backend: 'iptables', keys: { ipMasqBackend: 'iptables' }, left: [] },
    // The reference looks for its own rules alone. The next pod with this address uses the element up.
    { backend: 'nftables', keys: { ipMasqBackend: 'nftables' }, left: [/10\.9\.0\.2/, /fd00:9::2/] },
    { backend: 'no', keys: { ipMasq: false }, left: [] },
  ])('a pod of ours with $backend masquerade', ({ keys, left }) => {
    const all = { ...config, ...keys }

    test.each([
      { name: 'with its namespace', gone: false },
      { name: 'without its namespace', gone: true },
    ])('passes CHECK of the reference and is removed by it, $name', async ({ gone }) => {
      const lab = await openMixedLab(executable)
      const ours = add(lab, 'a', all)
      const checked = callPlugin(lab, 'CHECK', { ...byReference, ...ours, conf: { ...all, prevResult: ours.result } })
      expect(checked).toMatchObject({ status: 0, stdout: '' })
      if (gone) lab.must('ip', 'netns', 'del', 'a')
      delByReference(lab, ours, gone)
      expect(store(lab)).toEqual({})
      // The kernel takes its time to end a namespace.
      await expect.poll(() => links(lab)).toEqual(['lo', 'br-t'])
      const rules = rulesOf(lab, 'pod-a', '10.9.0.2', 'fd00:9::2')
      // Without the namespace the reference does not know the addresses, and leaves its own rules behind, too.
      if (!gone) {
        for (const line of rules)
          expect(
            left.some((known) => known.test(line)),
            line,
          ).toBe(true)
        expect(rules).toHaveLength(left.length)
      }
      expect(Object.keys(files(lab, '/run/pontoon')).filter((path) => /\/[0-9a-f]{32}$/.test(path))).toHaveLength(1)
    })

    test('and when the node gets Pontoon again, GC removes what was left', async () => {
      const lab = await openMixedLab(executable)
      const ours = add(lab, 'a', all)
      delByReference(lab, ours)
      const list = { ...all, cniVersion: '1.1.0', 'cni.dev/valid-attachments': [] }
      expect(callPlugin(lab, 'GC', { conf: list })).toMatchObject({ status: 0, stdout: '' })
      expect(rulesOf(lab, 'pod-a', '10.9.0.2', 'fd00:9::2')).toEqual([])
      expect(Object.keys(files(lab, '/run/pontoon')).filter((path) => /\/[0-9a-f]{32}$/.test(path))).toEqual([])
    })
  })

  test('its addresses are free again for the reference, and for us', async () => {
    const lab = await openMixedLab(executable)
    const plain = { ...config, ipMasq: false }
    del(lab, add(lab, 'a', plain), byReference)
    const asked = { args: 'IgnoreUnknown=1;IP=10.9.0.2' }
    const theirs = add(lab, 'b', plain, { ...byReference, ...asked })
    expect(addressesOf(theirs.result)[0]).toBe('10.9.0.2')
    del(lab, theirs, byReference)
    expect(addressesOf(add(lab, 'c', plain, asked).result)[0]).toBe('10.9.0.2')
  })

  test('50 ADDs of each at once share one store: no address twice, and each removes what the other made', async () => {
    const lab = await openMixedLab(executable)
    lab.must('sh', '-ec', 'for i in $(seq 0 99); do ip netns add n$i; done')
    const plain = conf({ cniVersion: '1.0.0', ipMasq: false })
    const all = (verb: string, isTheirs: (index: number) => boolean, results: readonly Answer[] = []) =>
      Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const call: Call = { id: `pod-n${index}`, netns: `n${index}`, ...(isTheirs(index) ? byReference : {}) }
          return startPatiently(lab, verb, { ...call, conf: { ...plain, prevResult: results[index]?.json } })
        }),
      )
    const expectAllWell = (answers: readonly Answer[]) =>
      expect([...new Set(answers.filter(({ status }) => status !== 0).map(({ stdout }) => stdout))]).toEqual([])
    const added = await all('ADD', (index) => index % 2 === 1)
    expectAllWell(added)
    const given = added.flatMap(({ json }) => addressesOf(json))
    expect(new Set(given).size).toBe(100)
    expect(Object.keys(store(lab)).toSorted()).toEqual(given.toSorted())
    expectAllWell(await all('DEL', (index) => index % 2 === 0, added))
    expect(store(lab)).toEqual({})
    expect(links(lab)).toEqual(['lo', 'br-t'])
  })
})
