import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { addresses, at, lastReserved, leftovers, marksOf, snapshot, store } from './observe.ts'
import {
  type Attachment,
  add,
  addressesOf,
  BRIDGE,
  callPlugin,
  check,
  conf,
  del,
  dualStack,
  expectFault,
} from './plugin.ts'

const mac = (lab: Lab, device: string, netns?: string): string =>
  lab.ip(`${at(netns)}-j link show dev ${device}`)[0].address

const families = [
  {
    name: 'IPv4',
    ipam: { ranges: [[{ subnet: '10.9.0.0/24' }]], routes: [{ dst: '0.0.0.0/0' }] },
    got: ['10.9.0.2/24'],
    gateways: ['10.9.0.1/24'],
  },
  {
    name: 'IPv6',
    ipam: { ranges: [[{ subnet: 'fd00:9::/64' }]], routes: [{ dst: '::/0' }] },
    got: ['fd00:9::2/64'],
    gateways: ['fd00:9::1/64'],
  },
  {
    name: 'dual stack',
    ipam: {
      ranges: [[{ subnet: '10.9.0.0/24' }], [{ subnet: 'fd00:9::/64' }]],
      routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
    },
    got: ['10.9.0.2/24', 'fd00:9::2/64'],
    gateways: ['10.9.0.1/24', 'fd00:9::1/64'],
  },
  {
    name: 'the old form of one subnet',
    ipam: { ranges: undefined, subnet: '10.9.0.0/24', routes: [{ dst: '0.0.0.0/0' }] },
    got: ['10.9.0.2/24'],
    gateways: ['10.9.0.1/24'],
  },
  {
    name: 'several range sets of one family, each with its gateway',
    ipam: { ranges: [[{ subnet: '10.9.0.0/24' }], [{ subnet: '10.10.0.0/24' }]], routes: [] },
    got: ['10.9.0.2/24', '10.10.0.2/24'],
    gateways: ['10.9.0.1/24', '10.10.0.1/24'],
  },
  {
    name: 'a range set of two ranges, the first of them one address',
    ipam: {
      ranges: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.7', rangeEnd: '10.9.0.7' }, { subnet: '10.10.0.0/24' }]],
      routes: [],
    },
    got: ['10.9.0.7/24'],
    gateways: ['10.9.0.1/24'],
  },
]

const versions = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']

forEachExecutable((executable) => {
  test.each(families)('ADD, CHECK and DEL: $name', async ({ ipam, got, gateways }) => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', conf({ ipam }))
    const { interfaces, ips, routes = [] } = one.result
    expect(interfaces.map(({ mtu: _, ...rest }: Json) => rest)).toEqual([
      { name: BRIDGE, mac: mac(lab, BRIDGE) },
      { name: expect.stringMatching(/^veth/), mac: mac(lab, interfaces[1].name) },
      { name: 'eth0', mac: mac(lab, 'eth0', 'a'), sandbox: '/run/netns/a' },
    ])
    for (const { name, mtu, sandbox } of interfaces) {
      if (mtu !== undefined) expect(lab.ip(`${at(sandbox && 'a')}-j link show dev ${name}`)[0].mtu).toBe(mtu)
    }
    expect(ips).toEqual(
      got.map((address, index) => ({ address, gateway: gateways[index]?.split('/')[0], interface: 2 })),
    )
    expect(routes).toEqual(ipam.routes)
    expect(addresses(lab, 'eth0', 'a')).toEqual(got)
    expect(addresses(lab, BRIDGE)).toEqual(gateways)
    for (const { dst } of ipam.routes) {
      const via = lab.ip(`-n a ${dst.includes(':') ? '-6' : '-4'} -j route show default`)
      expect(via).toMatchObject([{ dev: 'eth0', gateway: gateways.at(dst.includes(':') ? -1 : 0)?.split('/')[0] }])
      expect(via[0].prefsrc).toBeUndefined()
    }
    expect(
      lab
        .ip('-j link show')
        .map((link: Json) => link.ifname)
        .toSorted(),
    ).toEqual([BRIDGE, 'lo', interfaces[1].name].toSorted())
    expect(check(lab, one)).toMatchObject({ status: 0, stdout: '' })
    del(lab, one)
    expect(leftovers(lab, ...marksOf(one))).toEqual([])
  })

  test.each(versions)('the result in cniVersion %s', async (cniVersion) => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', dualStack({ cniVersion }))
    expect(one.result.cniVersion).toBe(cniVersion)
    if (cniVersion < '0.3') {
      expect(one.result).toMatchObject({
        ip4: { ip: '10.9.0.2/24', gateway: '10.9.0.1', routes: [{ dst: '0.0.0.0/0' }] },
        ip6: { ip: 'fd00:9::2/64', gateway: 'fd00:9::1', routes: [{ dst: '::/0' }] },
      })
    } else {
      const version = (number: string) => (cniVersion < '1' ? { version: number } : {})
      expect(one.result.interfaces).toHaveLength(3)
      expect(one.result.ips).toEqual([
        { ...version('4'), address: '10.9.0.2/24', gateway: '10.9.0.1', interface: 2 },
        { ...version('6'), address: 'fd00:9::2/64', gateway: 'fd00:9::1', interface: 2 },
      ])
      expect(one.result.routes).toEqual([{ dst: '0.0.0.0/0' }, { dst: '::/0' }])
    }
    expect(one.result.dns).toEqual(cniVersion < '1' ? {} : undefined)
    const checked = check(lab, one)
    if (cniVersion < '0.4') expectFault(checked, { code: 1 })
    else expect(checked).toMatchObject({ status: 0, stdout: '' })
    del(lab, one)
    expect(leftovers(lab, 'pod-a', '10.9.0.2', 'fd00:9::2')).toEqual([])
  })

  test('the sandbox of the result is CNI_NETNS byte for byte', async () => {
    const lab = await openLab(executable)
    lab.netns('a')
    const one = add(lab, 'a', conf(), { netns: '/var/run/netns/../netns/a' })
    expect(one.result.interfaces[2].sandbox).toBe('/var/run/netns/../netns/a')
  })

  describe('a second ADD of an attachment that lives', () => {
    const seconds = [
      { name: 'in the same namespace', second: (one: Attachment) => ({ id: one.id, netns: one.netns }) },
      { name: 'in another namespace', second: (one: Attachment) => ({ id: one.id, netns: 'b' }) },
      {
        name: 'under another ID, where the interface is there',
        second: (one: Attachment) => ({ id: 'pod-x', netns: one.netns }),
      },
    ]
    test.each(seconds)('$name is refused and changes nothing', async ({ second }) => {
      const lab = await openLab(executable)
      const one = add(lab, 'a', dualStack())
      lab.netns('b')
      const before = snapshot(lab)
      expectFault(callPlugin(lab, 'ADD', { ...second(one), conf: one.conf }))
      expect(snapshot(lab)).toEqual(before)
      expect(check(lab, one).status).toBe(0)
    })
  })

  test('two interfaces of one container, and two containers, get one address after the other', async () => {
    const lab = await openLab(executable)
    const all = [add(lab, 'a'), add(lab, 'a', conf(), { ifname: 'eth1' }), add(lab, 'b')]
    expect(all.flatMap((one) => addressesOf(one.result))).toEqual(['10.9.0.2', '10.9.0.3', '10.9.0.4'])
    expect(store(lab)).toEqual({
      '10.9.0.2': 'pod-a\r\neth0',
      '10.9.0.3': 'pod-a\r\neth1',
      '10.9.0.4': 'pod-b\r\neth0',
    })
    del(lab, all[0] as Attachment)
    expect(Object.keys(store(lab))).toEqual(['10.9.0.3', '10.9.0.4'])
    expect(lab.ip('-n a -j link show').map((link: Json) => link.ifname)).toEqual(['lo', 'eth1'])
    expect(check(lab, all[1] as Attachment).status).toBe(0)
  })

  test('after a DEL, allocation goes on behind the last address given, and comes round', async () => {
    const lab = await openLab(executable)
    const small = conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/29' }]] } })
    const given: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
      const one = add(lab, name, small)
      given.push(...addressesOf(one.result))
      expect(lastReserved(lab)).toBe(given.at(-1))
      del(lab, one)
    }
    expect(given.map((address) => address.split('.').at(-1))).toEqual(['2', '3', '4', '5', '6', '2', '3'])
    expect(leftovers(lab, ...given)).toEqual([])
  })

  const names = [
    { subnet: 'fd00:9::/64', first: 'fd00:9::2' },
    { subnet: '2001:db8:1:0:ffff:ffff:ffff:0/112', first: '2001:db8:1:0:ffff:ffff:ffff:2' },
    { subnet: '2001:DB8:0:0:1:0:0:0/96', first: '2001:db8::1:0:0:2' },
  ]
  test.each(names)('the store names the IPv6 address $first in its canonical text', async ({ subnet, first }) => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', conf({ ipam: { ranges: [[{ subnet }]], routes: [] } }))
    expect(store(lab)).toEqual({ [first]: 'pod-a\r\neth0' })
    expect(lastReserved(lab)).toBe(first)
    expect(addressesOf(one.result)).toEqual([first])
    del(lab, one)
    expect(leftovers(lab, ...marksOf(one))).toEqual([])
  })

  test('the bridge keeps its hardware address, which is none of its ports', async () => {
    const lab = await openLab(executable)
    const layer2 = conf({ isGateway: false, ipMasq: false, ipam: { routes: [] } })
    const seen = new Set<string>()
    const all = ['a', 'b', 'c', 'd'].map((name) => {
      const one = add(lab, name, layer2)
      seen.add(mac(lab, BRIDGE))
      expect(one.result.interfaces[0].mac).toBe(mac(lab, BRIDGE))
      expect(mac(lab, one.result.interfaces[1].name)).not.toBe(mac(lab, BRIDGE))
      return one
    })
    for (const one of all) {
      del(lab, one)
      seen.add(mac(lab, BRIDGE))
    }
    expect([...seen]).toHaveLength(1)
  })
})
