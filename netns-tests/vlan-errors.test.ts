/** What VLANs come to where the kernel has none: this machine's, as a rule. With packets: guest/vlans.sh. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { leftovers, snapshot, store } from './observe.ts'
import { add, BRIDGE, callPlugin, check, conf, del, dualStack, expectFault } from './plugin.ts'

const links = (lab: Lab): string[] => lab.ip('-j link show').map(({ ifname }: Json) => ifname)
const hasVlans =
  spawnSync('unshare', ['-n', ...'ip link add br-x type bridge vlan_filtering 1'.split(' ')]).status === 0

forEachExecutable((executable) => {
  test.skipIf(hasVlans).each<[name: string, network: Json]>([
    ['vlan', conf({ vlan: 100 })],
    ['vlan, dual-stack, with everything', dualStack({ vlan: 100, macspoofchk: true, isDefaultGateway: true })],
    ['vlan alone', conf({ vlan: 100, preserveDefaultVlan: false, isGateway: false, ipMasq: false })],
    ['vlanTrunk', conf({ vlanTrunk: [{ minID: 100, maxID: 199 }, { id: 5 }] })],
    ['an empty vlanTrunk', conf({ vlanTrunk: [] })],
  ])('%s: the error names what the kernel lacks, and nothing is left', async (_, network) => {
    const lab = await openLab(executable)
    const call = { id: 'pod-a', netns: lab.netns('a'), conf: network }
    expectFault(callPlugin(lab, 'ADD', call), { code: 102, about: /CONFIG_BRIDGE_VLAN_FILTERING.*CONFIG_VLAN_8021Q/ })
    expect(links(lab)).toEqual(['lo'])
    expect([leftovers(lab, 'pod-a', '10.9.0.2'), store(lab)]).toEqual([[], {}])
    expect(callPlugin(lab, 'DEL', call)).toMatchObject({ status: 0 })
    lab.must('ip', 'link', 'add', 'br-other', 'type', 'bridge')
    expectFault(callPlugin(lab, 'STATUS', { conf: network }), { code: 50, about: /CONFIG_BRIDGE_VLAN_FILTERING/ })
  })

  test('a bridge that is there stays as it is', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a')
    lab.netns('b')
    const { network, packetFilter, store: stored } = snapshot(lab)
    const call = { id: 'pod-b', netns: 'b', conf: conf({ name: 'u', vlan: 100 }) }
    expectFault(callPlugin(lab, 'ADD', call), { code: 101, about: /VLAN filtering on/ })
    expectFault(callPlugin(lab, 'STATUS', { conf: call.conf }), { code: 50 })
    expect(snapshot(lab)).toMatchObject({ network, packetFilter, store: stored })
    expect(lab.ip(`-d -j link show dev ${BRIDGE}`)[0].linkinfo.info_data.vlan_filtering).toBe(0)
    expect(check(lab, one)).toMatchObject({ status: 0 })
    del(lab, one)
    expect(leftovers(lab, 'pod-b')).toEqual([])
  })

  test('the name of a gateway that is too long is told before anything is made', async () => {
    const lab = await openLab(executable)
    const network = conf({ bridge: 'abcdefghijkl', vlan: 4000 })
    const about = /abcdefghijkl\.4000.*longer than 15 characters/
    expectFault(callPlugin(lab, 'ADD', { id: 'pod-a', netns: lab.netns('a'), conf: network }), { code: 7, about })
    expectFault(callPlugin(lab, 'STATUS', { conf: network }), { code: 7, about })
    expect(links(lab)).toEqual(['lo'])
    // Without a gateway there is no such name; DEL asks for none.
    expect(callPlugin(lab, 'DEL', { id: 'pod-a', netns: 'a', conf: network })).toMatchObject({ status: 0 })
  })

  test('plain networks have nothing to do with VLANs', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', conf({ vlan: 0, preserveDefaultVlan: false }))
    expect(lab.ip(`-d -j link show dev ${BRIDGE}`)[0].linkinfo.info_data.vlan_filtering).toBe(0)
    expect(check(lab, one)).toMatchObject({ status: 0 })
    del(lab, one)
  })
})
