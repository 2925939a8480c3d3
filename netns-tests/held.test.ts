/** Whoever is given an address keeps what serves it, though a former holder is removed, or starts again, meanwhile. */
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { holdUp } from './hold-up.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { addresses, leftovers, marksOf, STORE, store } from './observe.ts'
import { add, addressesOf, BRIDGE, callPlugin, check, conf, del, expectFault, startPlugin } from './plugin.ts'

const config = conf({ ipMasqBackend: 'nftables' })
const one = (keys: Json = {}) => ({
  ...config,
  ...keys,
  ipam: { type: 'host-local', ranges: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.2', rangeEnd: '10.9.0.2' }]] },
})
const alone = {
  ...config,
  ipam: { type: 'host-local', ranges: [[{ subnet: '10.7.0.5/32', gateway: '10.7.0.1' }]] },
}

/** As after a node's trouble: the pod `a` has gone without DEL, its reservation is lost. Its rules are there. */
function lose(lab: Lab, address: string): void {
  lab.must('ip', '-n', 'a', 'link', 'del', 'eth0')
  lab.must('ip', 'netns', 'del', 'a')
  lab.must('rm', `${STORE}/t/${address}`)
}

const nodeRoutes = (lab: Lab) => lab.must('ip', 'route', 'show', 'proto', '122').trim()

forEachExecutable((executable) => {
  describe('a container starts again under its ID, and another has its address by now', () => {
    test.each(['nftables', 'iptables'])(
      'the other keeps its masquerading; it begins with %s',
      async (ipMasqBackend) => {
        const lab = await openLab(executable)
        const former = add(lab, 'a', config)
        lose(lab, '10.9.0.2')
        const other = add(lab, 'b', conf({ ipMasqBackend: 'nftables', ipam: { ranges: one().ipam.ranges } }))
        expect(addressesOf(other.result)).toEqual(['10.9.0.2'])
        const again = add(lab, 'a2', conf({ ipMasqBackend }), { id: former.id })
        expect(check(lab, other)).toMatchObject({ status: 0 })
        expect(check(lab, again)).toMatchObject({ status: 0 })
        for (const each of [again, other]) del(lab, each)
        expect(leftovers(lab, ...marksOf(former, other, again))).toEqual([])
      },
    )

    test('the other keeps its route', async () => {
      const lab = await openLab(executable)
      const former = add(lab, 'a', alone)
      lose(lab, '10.7.0.5')
      const other = add(lab, 'b', alone)
      const again = add(lab, 'a2', config, { id: former.id })
      expect(nodeRoutes(lab)).toBe(`10.7.0.5 dev ${BRIDGE} scope link`)
      expect(check(lab, other)).toMatchObject({ status: 0 })
      for (const each of [again, other]) del(lab, each)
      expect(nodeRoutes(lab)).toBe('')
      expect(leftovers(lab, former.id, other.id)).toEqual([])
    })
  })

  test('a container that starts again with another address leaves nothing at the former one', async () => {
    const lab = await openLab(executable)
    const former = add(lab, 'a', alone)
    const other = add(lab, 'b', {
      ...alone,
      ipam: { ...alone.ipam, ranges: [[{ subnet: '10.7.0.6/32', gateway: '10.7.0.1' }]] },
    })
    lab.must('ip', 'netns', 'del', 'a')
    const again = add(lab, 'a2', config, { id: former.id })
    expect(nodeRoutes(lab)).toBe(`10.7.0.6 dev ${BRIDGE} scope link`)
    expect(store(lab)).toEqual({ '10.7.0.6': 'pod-b\r\neth0', '10.9.0.2': 'pod-a\r\neth0' })
    for (const each of [other, again]) expect(check(lab, each)).toMatchObject({ status: 0 })
    for (const each of [other, again]) del(lab, each)
    expect(leftovers(lab, former.id, other.id)).toEqual([])
  })

  test('a container starts again, and its former rules can’t be removed: DEL does it later', async () => {
    const lab = await openLab(executable)
    const former = add(lab, 'a', config)
    lab.must('ip', 'netns', 'del', 'a')
    lab.must('sh', '-ec', 'mount --bind /bin/false "$(readlink -f "$(command -v nft)")"')
    const again = { id: former.id, netns: lab.netns('a2'), conf: config }
    expectFault(callPlugin(lab, 'ADD', again), { code: 102, about: /nft/ })
    lab.must('sh', '-ec', 'umount "$(readlink -f "$(command -v nft)")"')
    expect(callPlugin(lab, 'DEL', again)).toMatchObject({ status: 0 })
    expect(leftovers(lab, ...marksOf(former))).toEqual([])
  })

  test('a container starts again with another address: the former one is nobody’s before its rules are gone', async () => {
    const lab = await openLab(executable)
    const former = add(lab, 'a', one())
    lab.must('ip', 'netns', 'del', 'a')
    const held = holdUp(lab, 'nft', 'delete element')
    const elsewhere = conf({ ipMasqBackend: 'nftables', ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } })
    const again = startPlugin(lab, 'ADD', { id: former.id, netns: lab.netns('a2'), conf: elsewhere })
    const letGo = await held()
    const early = callPlugin(lab, 'ADD', { id: 'pod-b', netns: lab.netns('b'), conf: one() })
    letGo()
    expect(await again).toMatchObject({ status: 0 })
    expect(early.json).toMatchObject({ code: 100 })
    const other = add(lab, 'b', one())
    expect(check(lab, other)).toMatchObject({ status: 0 })
  })

  test.each(['DEL', 'GC'])(
    'an address went to another interface of the container: its jump stays by %s',
    async (verb) => {
      const lab = await openLab(executable)
      const config = one({ ipMasqBackend: 'iptables' })
      const former = add(lab, 'a', config)
      lab.must('sh', '-ec', `ip -n a link del eth0; rm ${STORE}/t/10.9.0.2`)
      const other = add(lab, 'a', config, { ifname: 'eth1' })
      const valid = { 'cni.dev/valid-attachments': [{ containerID: other.id, ifname: 'eth1' }] }
      if (verb === 'DEL') del(lab, former)
      else expect(callPlugin(lab, 'GC', { conf: { ...config, ...valid }, ifname: '' })).toMatchObject({ status: 0 })
      expect(check(lab, other)).toMatchObject({ status: 0 })
      del(lab, other)
      expect(leftovers(lab, 'CNI-', former.id)).toEqual([])
    },
  )

  test('a network gets another subnet: the gateway stays while pods of another network on the bridge live by it', async () => {
    const lab = await openLab(executable)
    const ipam = (first: number) => ({
      ranges: [[{ subnet: '10.9.0.0/24', rangeStart: `10.9.0.${first}`, rangeEnd: `10.9.0.${first + 9}` }]],
    })
    const former = add(lab, 'a', conf({ ipam: ipam(10) }))
    const other = add(lab, 'b', conf({ name: 'u', ipam: ipam(20) }))
    del(lab, former)
    add(lab, 'c', conf({ ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } }))
    expect(check(lab, other)).toMatchObject({ status: 0 })
    del(lab, other)
    add(lab, 'd', conf({ ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } }))
    expect(addresses(lab, BRIDGE)).toEqual(['10.8.0.1/24'])
  })
})
