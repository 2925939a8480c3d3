import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { leftovers, marksOf, packetFilter } from './observe.ts'
import { isSilent, ping } from './ping.ts'
import { type Attachment, add, callPlugin, check, conf, del, expectFault } from './plugin.ts'

const guarded = (keys: Json = {}): Json => conf({ macspoofchk: true, ...keys })
const hostEnd = (one: Attachment): string => one.result.interfaces[1].name

/** The elements of one of the sets: `veth… . 02:…`. */
function elements(lab: Lab, set: string): string[] {
  const listed = lab.run(['nft', '-j', 'list', 'set', 'bridge', 'pontoon', set])
  if (listed.status !== 0) return []
  const found = JSON.parse(listed.stdout).nftables.find((item: Json) => item.set).set.elem ?? []
  return found.map(({ elem: { val } }: Json) => (typeof val === 'string' ? val : val.concat.join(' . '))).sort()
}
const guards = (lab: Lab) => [elements(lab, 'guarded_ports'), elements(lab, 'guarded_macs')]
const mac = (one: Attachment): string => one.result.interfaces[2].mac

forEachExecutable((executable) => {
  test('nothing leaves the pod from another hardware address, nor claims one in ARP', async () => {
    const lab = await openLab(executable)
    const [one, two] = [add(lab, 'a', guarded()), add(lab, 'b', conf())]
    expect(guards(lab)).toEqual([[hostEnd(one)], [`${hostEnd(one)} . ${mac(one)}`]])
    expect(ping(lab, 'a', '10.9.0.3')).toBe(true)

    // Frames from another address.
    lab.must('ip', '-n', 'a', 'link', 'set', 'eth0', 'address', '02:00:00:00:00:99')
    lab.must('ip', '-n', 'b', 'neigh', 'replace', '10.9.0.2', 'dev', 'eth0', 'lladdr', '02:00:00:00:00:99')
    expect(isSilent(lab, 'a', '10.9.0.3')).toBe(true)
    lab.must('ip', '-n', 'a', 'link', 'set', 'eth0', 'address', mac(one))
    lab.must('ip', '-n', 'b', 'neigh', 'del', '10.9.0.2', 'dev', 'eth0')

    // ARP that claims another address, in frames from its own. The other one has no guard: there it works.
    const believes = (victim: string, liar: string, own: string, asked: string): boolean => {
      lab.must('ip', '-n', liar, 'addr', 'add', `${own}/24`, 'dev', 'eth0')
      lab.must('ip', '-n', liar, 'neigh', 'flush', 'dev', 'eth0')
      lab.must('ip', 'netns', 'exec', liar, 'nft', LIE)
      lab.run(['ip', 'netns', 'exec', liar, 'ping', '-c', '1', '-W', '1', '-I', own, asked])
      const isBelieved = lab.must('ip', '-n', victim, 'neigh', 'show', own).includes('02:00:00:00:00:97')
      lab.must('ip', 'netns', 'exec', liar, 'nft', 'delete table arp lie')
      return isBelieved // the truth would be told again within a second
    }
    expect(believes('a', 'b', '10.9.0.201', '10.9.0.2')).toBe(true)
    expect(believes('b', 'a', '10.9.0.200', '10.9.0.3')).toBe(false)

    lab.must('ip', '-n', 'b', 'link', 'set', 'eth0', 'address', '02:00:00:00:00:98')
    lab.must('ip', '-n', 'a', 'neigh', 'flush', 'dev', 'eth0')
    expect(ping(lab, 'b', '10.9.0.2')).toBe(true)
    for (const pod of [one, two]) del(lab, pod)
    expect(leftovers(lab, hostEnd(one), ...marksOf(one, two))).toEqual([])
  })

  test('CHECK tells what of it is gone', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', guarded())
    expect(check(lab, one)).toMatchObject({ status: 0, stdout: '' })
    lab.must('nft', 'flush', 'chain', 'bridge', 'pontoon', 'spoofcheck')
    expectFault(check(lab, one), { code: 103, about: /macspoofchk.*a rule that drops/ })
    lab.must('nft', 'flush', 'set', 'bridge', 'pontoon', 'guarded_macs')
    expectFault(check(lab, one), { code: 103, about: /macspoofchk.*none let through/ })
    lab.must('nft', 'delete', 'table', 'bridge', 'pontoon')
    expectFault(check(lab, one), { code: 103, about: /macspoofchk/ })
    const two = add(lab, 'b', guarded()) // makes table and rules again
    expect(check(lab, two)).toMatchObject({ status: 0 })
    for (const pod of [one, two]) del(lab, pod)
    expect(guards(lab)).toEqual([[], []])
  })

  test.each<[name: string, spoil: (lab: Lab) => void]>([
    ['the namespace is gone', (lab) => lab.must('ip', 'netns', 'del', 'a')],
    [
      'namespace and index are gone',
      (lab) => {
        lab.must('ip', 'netns', 'del', 'a')
        rmSync(`${lab.root}/run/pontoon`, { recursive: true })
      },
    ],
    ['the index is gone', (lab) => rmSync(`${lab.root}/run/pontoon`, { recursive: true })],
  ])('DEL removes it when %s', async (_, spoil) => {
    const lab = await openLab(executable)
    for (const keys of [{}, { isGateway: false, ipMasq: false, ipam: { type: undefined, ranges: undefined } }]) {
      const network = guarded(keys)
      const [one, other] = [add(lab, 'a', network), add(lab, 'b', network)]
      spoil(lab)
      del(lab, one)
      expect(guards(lab)).toEqual([[hostEnd(other)], [`${hostEnd(other)} . ${mac(other)}`]])
      del(lab, other)
      lab.run(['ip', 'netns', 'del', 'a'])
      lab.run(['ip', 'netns', 'add', 'a'])
      expect(guards(lab)).toEqual([[], []])
    }
  })

  test('an ADD after an unclean stop leaves no guard of the former one', async () => {
    const lab = await openLab(executable)
    const mac = (text: string) => ({ runtimeConfig: { mac: text }, capabilities: { mac: true } })
    const one = add(lab, 'a', guarded(mac('02:00:00:00:00:01')))
    lab.must('ip', 'netns', 'del', 'a')
    const two = add(lab, 'b', guarded(mac('02:00:00:00:00:02')), { id: one.id })
    expect(guards(lab)).toEqual([[hostEnd(one)], [`${hostEnd(one)} . 02:00:00:00:00:02`]])
    lab.must('ip', 'netns', 'del', 'b')
    const three = add(lab, 'c', conf(mac('02:00:00:00:00:03')), { id: one.id })
    expect(guards(lab)).toEqual([[], []])
    expect(ping(lab, 'c', '10.9.0.1')).toBe(true)
    expect(check(lab, three)).toMatchObject({ status: 0 })
    del(lab, three)
    expect(leftovers(lab, ...marksOf(two, three))).toEqual([])
  })

  test('GC removes what belongs to no valid attachment of the network, and nothing else', async () => {
    const lab = await openLab(executable)
    const [one, two] = [add(lab, 'a', guarded()), add(lab, 'b', guarded())]
    const alien = add(lab, 'c', guarded({ name: 'u', ipam: { ranges: [[{ subnet: '10.10.0.0/24' }]] } }))
    lab.must('ip', 'netns', 'del', 'a')
    rmSync(`${lab.root}/run/pontoon`, { recursive: true })
    rmSync(`${lab.root}/var/lib/cni/networks/t/10.9.0.2`)
    const valid = [{ containerID: two.id, ifname: 'eth0' }]
    expect(callPlugin(lab, 'GC', { conf: guarded({ 'cni.dev/valid-attachments': valid }) })).toMatchObject({
      status: 0,
    })
    expect(elements(lab, 'guarded_ports')).toEqual([hostEnd(two), hostEnd(alien)].sort())
    expect(elements(lab, 'guarded_macs')).toHaveLength(2)
    for (const pod of [two, alien, one]) del(lab, pod)
    expect(guards(lab)).toEqual([[], []])
  })

  test('the rules are as many for many pods as for one', async () => {
    const lab = await openLab(executable)
    const rules = () => packetFilter(lab).filter((line) => / drop$/.test(line))
    const pods = [add(lab, 'a', guarded())]
    const first = rules()
    for (const name of ['b', 'c', 'd']) pods.push(add(lab, name, guarded()))
    expect(rules()).toEqual(first)
    expect(first).toHaveLength(2)
    for (const pod of pods) del(lab, pod)
  })

  test('an ADD that fails takes it back', async () => {
    const lab = await openLab(executable)
    lab.netns('a')
    lab.must('ip', '-n', 'a', 'link', 'add', 'eth0', 'type', 'bridge')
    expectFault(callPlugin(lab, 'ADD', { id: 'pod-a', netns: 'a', conf: guarded() }), { code: 101 })
    lab.must('ip', '-n', 'a', 'link', 'del', 'eth0')
    expect(leftovers(lab, 'pod-a')).toEqual([])
  })
})

/** Every ARP message that is sent says that its sender has another hardware address. */
const LIE = [
  'add table arp lie',
  'add chain arp lie output { type filter hook output priority 0; }',
  'add rule arp lie output arp saddr ether set 02:00:00:00:00:97',
].join('; ')
