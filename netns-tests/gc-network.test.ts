/** GC with an empty list: what the attachments had in common goes too, as long as it is nobody else's. */
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { packetFilter } from './observe.ts'
import { add, addressesOf, BRIDGE, callPlugin, check, conf, del, dualStack } from './plugin.ts'

const EMPTY = { 'cni.dev/valid-attachments': [] }

function collectAll(lab: Lab, config: object): void {
  expect(callPlugin(lab, 'GC', { conf: { ...config, ...EMPTY }, ifname: '' })).toMatchObject({ status: 0, stdout: '' })
}

const hasLink = (lab: Lab, name: string) => lab.run(['ip', 'link', 'show', 'dev', name]).status === 0

forEachExecutable((executable) => {
  test.each([
    { name: 'pods are there', pods: true },
    { name: 'the pods are gone', pods: false },
  ])('$name: bridge, sets, rules and table go', async ({ pods }) => {
    const lab = await openLab(executable)
    const config = dualStack({ ipMasqExclude: ['192.0.2.0/24'] })
    const one = add(lab, 'a', config)
    if (!pods) del(lab, one)
    collectAll(lab, config)
    expect(hasLink(lab, BRIDGE)).toBe(false)
    expect(packetFilter(lab)).toEqual([])
    const again = add(lab, 'b', config)
    expect(check(lab, again)).toMatchObject({ status: 0 })
  })

  test('another network has its sets in the table: only those of the one go, and the other network goes on', async () => {
    const lab = await openLab(executable)
    const other = add(lab, 'o', conf({ name: 't-b', bridge: 'br-o', ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } }))
    add(lab, 'a')
    collectAll(lab, conf())
    expect(packetFilter(lab).filter((line) => line.includes('10.9.0.'))).toEqual([])
    expect(packetFilter(lab).join('\n')).toContain('10.8.0.2')
    expect(hasLink(lab, BRIDGE)).toBe(false)
    expect(check(lab, other)).toMatchObject({ status: 0 })
  })

  test.each([
    { name: 'another network has a pod on it', make: '' },
    { name: 'the administrator made it', make: `ip link set ${BRIDGE} address 02:00:00:00:00:77` },
    {
      name: 'something is plugged in',
      make: `ip link add tap9 type veth peer name tap8; ip link set tap9 master ${BRIDGE}`,
    },
    { name: 'a device is on top of it', make: `ip link add mv9 link ${BRIDGE} type macvlan` },
  ])('the bridge stays when $name', async ({ make }) => {
    const lab = await openLab(executable)
    add(lab, 'a')
    const other = { ...conf({ name: 'u' }), ipam: { type: 'host-local', ranges: [[{ subnet: '10.8.0.0/24' }]] } }
    const neighbour = make === '' ? add(lab, 'n', other) : undefined
    lab.must('sh', '-ec', make || ':')
    collectAll(lab, conf())
    expect(hasLink(lab, BRIDGE)).toBe(true)
    if (neighbour) expect(check(lab, neighbour)).toMatchObject({ status: 0 })
  })

  test('somebody has put a chain of his own into the table: the table stays with it', async () => {
    const lab = await openLab(executable)
    add(lab, 'a')
    lab.must('nft', 'add chain inet cni_plugins_masquerade mine')
    lab.must('nft', 'add rule inet cni_plugins_masquerade mine ip daddr 192.0.2.1 drop')
    collectAll(lab, conf())
    expect(packetFilter(lab).join('\n')).toContain('192.0.2.1')
    expect(packetFilter(lab).filter((line) => line.includes('10.9.0.'))).toEqual([])
  })

  test.each(['null', 'no list', 'a list of one'])('with %s nothing of this goes', async (list) => {
    const lab = await openLab(executable)
    const one = add(lab, 'a')
    if (list !== 'a list of one') del(lab, one)
    const valid = [{ containerID: one.id, ifname: 'eth0' }]
    const keys = list === 'no list' ? {} : { 'cni.dev/valid-attachments': list === 'null' ? null : valid }
    const before = packetFilter(lab)
    expect(callPlugin(lab, 'GC', { conf: conf(keys), ifname: '' })).toMatchObject({ status: 0 })
    expect(hasLink(lab, BRIDGE)).toBe(true)
    expect(packetFilter(lab)).toEqual(before)
  })

  test('a masquerade element that bears a former owner’s name is kept for the pod that has the address now', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a')
    const address = addressesOf(one.result)[0]
    const set = 'inet cni_plugins_masquerade pods-t-10.9.0.0/24'
    lab.must(
      'nft',
      `delete element ${set} { ${address} }; add element ${set} { ${address} comment "0123456789abcdef, net: t, if: eth0, id: gone" }`,
    )
    const keys = { 'cni.dev/valid-attachments': [{ containerID: one.id, ifname: 'eth0' }] }
    expect(callPlugin(lab, 'GC', { conf: conf(keys), ifname: '' })).toMatchObject({ status: 0 })
    expect(packetFilter(lab).join('\n')).toContain(`${address} comment`)
    expect(check(lab, one)).toMatchObject({ status: 0 })
  })
})
