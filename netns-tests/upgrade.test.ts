/** Pods that the reference plugins made, after the node got Pontoon. */
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import type { Json, Lab } from './lab.ts'
import { byReference, hide, openMixedLab } from './mixed.ts'
import { files, lastReserved, leftovers, marksOf, packetFilter, STORE, store } from './observe.ts'
import { ping } from './ping.ts'
import { add, addressesOf, BRIDGE, type Call, callPlugin, check, del, dualStack, expectFault } from './plugin.ts'

const config = dualStack({ cniVersion: '1.0.0' })
const reservation = `${STORE}/t/10.9.0.2`

/** What may have happened, and with what DEL is called. */
const ends: { name: string; happened?: (lab: Lab) => void; call?: Json; gone?: true }[] = [
  { name: 'is removed' },
  { name: 'is removed without its namespace', call: { netns: '' }, gone: true },
  { name: 'is removed when the path of its namespace leads nowhere', gone: true },
  { name: 'is removed without prevResult', call: { conf: {} } },
  { name: 'is removed when it lives but no namespace is named', call: { netns: '' } },
  { name: 'is removed when it lives but no namespace is named, without prevResult', call: { netns: '', conf: {} } },
  {
    name: 'is removed when it has lost its addresses',
    happened: (lab) => lab.must('ip', '-n', 'a', 'addr', 'flush', 'dev', 'eth0'),
    call: { conf: {} },
  },
  {
    name: 'is removed when its reservations are of the oldest format',
    happened: (lab) => lab.must('sh', '-ec', `for file in ${STORE}/t/*[.:]*2; do printf pod-a >$file; done`),
  },
  {
    name: 'is removed when its rules have gone',
    happened: (lab) => lab.must('nft', 'flush', 'ruleset'),
  },
  {
    name: 'is removed when its reservations have gone',
    happened: (lab) => lab.must('sh', '-ec', `rm ${STORE}/t/*[.:]*2`),
  },
]

const backends = [
  { backend: 'iptables', keys: {} },
  { backend: 'nftables', keys: { ipMasqBackend: 'nftables', macspoofchk: true } },
  { backend: 'no', keys: { ipMasq: false } },
]

forEachExecutable((executable) => {
  describe.each(backends)('a pod of the reference with $backend masquerade', ({ keys, backend }) => {
    const all = { ...config, ...keys }

    test('passes CHECK, and fails it when its rules are gone', async () => {
      const lab = await openMixedLab(executable)
      const old = add(lab, 'a', all, byReference)
      expect(check(lab, old)).toMatchObject({ status: 0, stdout: '' })
      if (backend === 'no') return
      lab.must('nft', 'flush', 'ruleset')
      expectFault(check(lab, old), { code: 103, about: /masquerade 10\.9\.0\.2.*masquerade fd00:9::2/s })
    })

    test.each(ends)('$name, and again', async ({ happened, call = {}, gone }) => {
      const lab = await openMixedLab(executable)
      const old = add(lab, 'a', all, byReference)
      const fresh = add(lab, 'b', all)
      expect(addressesOf(fresh.result)).toEqual(['10.9.0.3', 'fd00:9::3'])
      expect(ping(lab, 'b', '10.9.0.2')).toBe(true)
      happened?.(lab)
      if (gone) lab.must('ip', 'netns', 'del', 'a')
      const how = call.conf ? { ...call, conf: all } : call
      del(lab, old, how)
      expect(leftovers(lab, ...marksOf(old)).filter((line) => line.startsWith('packet filter'))).toEqual([])
      expect(new Set(Object.values(store(lab)))).toEqual(new Set([`${fresh.id}\r\neth0`]))
      expect(lab.ip(`-j link show master ${BRIDGE}`)).toHaveLength(1)
      del(lab, old, how)
      del(lab, fresh)
      expect(leftovers(lab, ...marksOf(old, fresh))).toEqual([])
    })
  })

  test('of two interfaces of one container each goes alone: the chain that they share stays for the other', async () => {
    const lab = await openMixedLab(executable)
    const first = add(lab, 'a', config, byReference)
    const second = add(lab, 'a', config, { ...byReference, ifname: 'eth1' })
    del(lab, first, { ifname: 'eth0' })
    expect(check(lab, second)).toMatchObject({ status: 0 })
    expect(packetFilter(lab).filter((line) => line.includes('10.9.0.2'))).toEqual([])
    del(lab, second)
    expect(leftovers(lab, ...marksOf(first, second))).toEqual([])
  })

  test('GC with a list removes what it does not name, of this network alone', async () => {
    const lab = await openMixedLab(executable)
    const nft = { ...config, ipMasqBackend: 'nftables', macspoofchk: true }
    const other = {
      ...config,
      name: 't-2',
      bridge: 'br-2',
      ipam: { ...config.ipam, ranges: [[{ subnet: '10.8.0.0/24' }]] },
    }
    const [a, b, c, d] = [
      add(lab, 'a', config, byReference),
      add(lab, 'b', config, byReference),
      add(lab, 'c', nft, byReference),
      add(lab, 'd', nft, byReference),
    ]
    const stranger = add(lab, 'e', other, byReference)
    const validAttachments = [a, c].map(({ id, ifname }) => ({ containerID: id, ifname }))
    const gc = (list: Json) =>
      callPlugin(lab, 'GC', { conf: { ...config, cniVersion: '1.1.0', 'cni.dev/valid-attachments': list } })
    lab.must('ip', 'netns', 'del', 'd')
    expect(gc(validAttachments)).toMatchObject({ status: 0, stdout: '' })
    for (const one of [a, c, stranger]) expect(check(lab, one), one.id).toMatchObject({ status: 0, stdout: '' })
    expect(Object.values(store(lab)).toSorted()).toEqual([a, a, c, c].map(({ id }) => `${id}\r\neth0`))
    expect(packetFilter(lab).filter((line) => /pod-[bd]\b/.test(line))).toEqual([])
    expect(lab.ip(`-j link show master ${BRIDGE}`)).toHaveLength(2)
    expect(gc(null)).toMatchObject({ status: 0, stdout: '' })
    for (const one of [a, c]) expect(check(lab, one), one.id).toMatchObject({ status: 0, stdout: '' })
    expect(gc([])).toMatchObject({ status: 0, stdout: '' })
    expect(check(lab, stranger)).toMatchObject({ status: 0, stdout: '' })
    del(lab, stranger)
    lab.must('rm', '-r', `${STORE}/t-2`)
    expect(leftovers(lab, ...marksOf(a, b, c, d, stranger))).toEqual([])
  })

  test('a namespace that is another pod’s by now loses nothing', async () => {
    const lab = await openMixedLab(executable)
    const old = add(lab, 'a', config, byReference)
    const victim = add(lab, 'b', config, byReference)
    lab.must('ip', 'netns', 'del', 'a')
    del(lab, old, { netns: 'b' })
    del(lab, { ...old, id: 'never-added' }, { netns: 'b', conf: config })
    expect(check(lab, victim)).toMatchObject({ status: 0, stdout: '' })
    del(lab, victim)
    expect(leftovers(lab, ...marksOf(old, victim))).toEqual([])
  })

  test('without iptables, and without nft, what they could have is not missed', async () => {
    const lab = await openMixedLab(executable)
    const plain = { ...config, ipMasq: false }
    const old = add(lab, 'a', plain, byReference)
    hide(lab, 'nft', 'iptables', 'iptables-legacy')
    del(lab, old)
    expect(files(lab, reservation)).toEqual({})
    expect(lab.ip('-j link show').map(({ ifname }: Json) => ifname)).toEqual(['lo', BRIDGE])
  })

  test('every file of the store that bears an address is as the reference would write it', async () => {
    const lab = await openMixedLab(executable)
    const byName = (exe: Call): Record<string, string> => {
      const one = add(lab, 'a', { ...config, ipMasq: false }, exe)
      const written = { ...store(lab), last: lastReserved(lab), last6: lastReserved(lab, 1) }
      del(lab, one, exe)
      lab.must('rm', '-r', STORE)
      return written
    }
    expect(byName({})).toEqual(byName(byReference))
  })
})
