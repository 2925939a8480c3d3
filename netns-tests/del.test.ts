import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { leftovers, marksOf, STORE, snapshot, store } from './observe.ts'
import { type Attachment, add, BRIDGE, type Call, callPlugin, conf, del, dualStack, expectFault } from './plugin.ts'

interface Case {
  name: string
  /** What happened between ADD and DEL. */
  happened?: (lab: Lab, one: Attachment) => void
  call?: (one: Attachment) => Call
  /** The other pod's reservations are gone as well. */
  storeGone?: true
}

const gone = (lab: Lab) => lab.must('ip', 'netns', 'del', 'a')
const shell = (script: string) => (lab: Lab) => void lab.must('sh', '-ec', script)
const changed = (change: (conf: Json) => Json) => (one: Attachment) => ({ conf: change(structuredClone(one.conf)) })

const paths: Case[] = [
  { name: 'the namespace is there', call: () => ({}) },
  { name: 'the namespace is gone', happened: gone },
  { name: 'the namespace is gone and CNI_NETNS empty', happened: gone, call: () => ({ netns: '' }) },
  { name: 'CNI_NETNS is empty though the namespace is there', call: () => ({ netns: '' }) },
  { name: 'CNI_NETNS is not set', call: (one) => ({ netns: '', conf: one.conf }) },
  { name: 'CNI_NETNS names a plain file', happened: shell('ip netns del a; : >/run/netns/a') },
  { name: 'CNI_NETNS names a folder', happened: shell('ip netns del a; mkdir /run/netns/a') },
  { name: 'CNI_NETNS names a dangling link', happened: shell('ip netns del a; ln -s /nowhere /run/netns/a') },
  { name: 'CNI_NETNS names a namespace of another kind', happened: gone, call: () => ({ netns: '/proc/self/ns/uts' }) },
  { name: 'CNI_NETNS names the namespace of the node', happened: gone, call: () => ({ netns: '/proc/self/ns/net' }) },
  { name: 'the namespace of the name is a new one', happened: shell('ip netns del a; ip netns add a') },
]

const configurations: Case[] = [
  { name: 'no prevResult', call: (one) => ({ conf: one.conf }) },
  {
    name: 'a prevResult that cannot be read',
    call: changed((c) => ({ ...c, prevResult: { ips: 'x', interfaces: 7 } })),
  },
  { name: 'no ranges', call: changed((c) => ({ ...c, ipam: { type: 'host-local' } })) },
  {
    name: 'another subnet',
    call: changed((c) => ({ ...c, ipam: { ...c.ipam, ranges: [[{ subnet: '10.77.0.0/24' }]] } })),
  },
  { name: 'another bridge', call: changed((c) => ({ ...c, bridge: 'br-u' })) },
  { name: 'ipMasq and the gateway switched off', call: changed((c) => ({ ...c, ipMasq: false, isGateway: false })) },
  { name: 'a folder of plugins that is not there', call: () => ({ path: '/nowhere' }) },
  { name: 'no CNI_PATH', call: () => ({ path: '' }) },
  { name: 'an older cniVersion', call: changed((c) => ({ ...c, cniVersion: '0.4.0' })) },
]

const states: Case[] = [
  { name: 'eth0 is gone', happened: shell('ip -n a link del eth0') },
  { name: 'eth0 lost its addresses', happened: shell('ip -n a addr flush dev eth0') },
  { name: 'eth0 has another name', happened: shell('ip -n a link set eth0 down; ip -n a link set eth0 name eth7') },
  {
    name: 'the host end is off the bridge',
    happened: (lab, one) => lab.must('ip', 'link', 'set', one.result.interfaces[1].name, 'nomaster'),
  },
  { name: 'the bridge is gone', happened: shell(`ip link del ${BRIDGE}`) },
  { name: 'the packet filter was flushed', happened: shell('nft flush ruleset') },
  { name: 'the reservation is gone', happened: shell(`rm ${STORE}/t/10.9.0.2`) },
  {
    name: 'the reservation names the ID alone, as old releases wrote it',
    happened: shell(`printf pod-a >${STORE}/t/10.9.0.2`),
  },
  { name: 'the whole store is gone', happened: shell(`rm -r ${STORE}`), storeGone: true },
  { name: '/sys is missing', happened: shell('mount -t tmpfs tmpfs /sys') },
  { name: "/sys is another namespace's", happened: shell('nsenter --net=/run/netns/b mount -t sysfs sysfs /sys') },
  {
    name: 'the labels are gone',
    happened: shell('for dev in /sys/class/net/veth*; do ip link set $(basename $dev) alias ""; done'),
  },
  { name: '/run was wiped', happened: shell('rm -rf /run/pontoon') },
  { name: '/run was wiped, and the namespace is gone', happened: shell('rm -rf /run/pontoon; ip netns del a') },
]

forEachExecutable((executable) => {
  describe.each([
    { group: 'the path', cases: paths },
    { group: 'the configuration', cases: configurations },
    { group: 'the state', cases: states },
  ])('DEL leaves nothing, twice: $group', ({ cases }) => {
    test.each(cases)('$name', async ({ happened, call, storeGone }) => {
      const lab = await openLab(executable)
      const one = add(lab, 'a', dualStack())
      const other = add(lab, 'b', dualStack())
      happened?.(lab, one)
      for (const _ of ['once', 'twice']) {
        del(lab, one, call?.(one))
        expect(Object.values(store(lab)).filter((owner) => owner.startsWith('pod-a'))).toEqual([])
      }
      expect(Object.keys(store(lab))).toEqual(storeGone ? [] : ['10.9.0.3', 'fd00:9::3'])
      del(lab, other)
      expect(leftovers(lab, ...marksOf(one, other))).toEqual([])
    })
  })

  test('DEL of what was never added succeeds and changes nothing', async () => {
    const lab = await openLab(executable)
    add(lab, 'a')
    lab.netns('b')
    const before = snapshot(lab)
    expect(callPlugin(lab, 'DEL', { id: 'never', netns: 'b' })).toMatchObject({ status: 0, stdout: '' })
    expect(callPlugin(lab, 'DEL', { id: 'never', netns: '' })).toMatchObject({ status: 0, stdout: '' })
    expect(snapshot(lab)).toEqual(before)
  })

  test('DEL on a machine without any state makes none', async () => {
    const lab = await openLab(executable)
    expect(callPlugin(lab, 'DEL', { id: 'never', netns: '' })).toMatchObject({ status: 0, stdout: '' })
    expect(snapshot(lab)).toMatchObject({ store: { '/var/lib/cni/': '' }, packetFilter: [] })
  })

  test("a stranger's eth0 in the namespace of the call is not touched", async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a')
    lab.netns('v')
    lab.must('sh', '-ec', 'ip link add foreign type veth peer name eth0 netns v; ip -n v link set eth0 up')
    del(lab, one, { netns: 'v' })
    expect(callPlugin(lab, 'DEL', { id: 'never', netns: 'v' })).toMatchObject({ status: 0, stdout: '' })
    expect(lab.run(['ip', '-n', 'v', 'link', 'show', 'eth0'])).toMatchObject({ status: 0 })
    lab.must('ip', 'link', 'del', 'foreign')
    expect(leftovers(lab, ...marksOf(one))).toEqual([])
  })

  test("the node's own eth0 is not touched", async () => {
    const lab = await openLab(executable)
    lab.must('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'hp')
    const before = snapshot(lab)
    expect(callPlugin(lab, 'DEL', { id: 'x', netns: '/proc/self/ns/net' })).toMatchObject({ status: 0, stdout: '' })
    expect(snapshot(lab)).toEqual(before)
  })

  const homes = ['/proc/self/ns/net', '/proc/thread-self/ns/net']
  test.each(homes)('ADD into the own namespace by %s is refused before anything is made', async (netns) => {
    const lab = await openLab(executable)
    const before = snapshot(lab)
    expectFault(callPlugin(lab, 'ADD', { id: 'x', netns, conf: dualStack() }))
    expect(snapshot(lab)).toMatchObject({ network: before.network, packetFilter: [] })
    expect(store(lab)).toEqual({})
  })

  const wrong = [
    { name: 'a plain file', make: ': >/run/netns/x' },
    { name: 'a folder', make: 'mkdir /run/netns/x' },
    { name: 'a dangling link', make: 'ln -s /nowhere /run/netns/x' },
    { name: 'nothing', make: ':' },
    { name: 'a namespace of another kind', make: 'touch /run/netns/x; mount --bind /proc/self/ns/uts /run/netns/x' },
  ]
  test.each(wrong)('ADD into a path that is $name is refused before anything is made', async ({ make }) => {
    const lab = await openLab(executable)
    lab.must('sh', '-ec', make)
    const before = snapshot(lab)
    expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: '/run/netns/x', conf: conf() }))
    expect(snapshot(lab)).toMatchObject({ network: before.network, packetFilter: [] })
    expect(store(lab)).toEqual({})
  })
})
