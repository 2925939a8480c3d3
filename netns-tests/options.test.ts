import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { addresses, at, leftovers, marksOf } from './observe.ts'
import { isSilent, ping } from './ping.ts'
import {
  type Attachment,
  add,
  addressesOf,
  BRIDGE,
  type Call,
  check,
  conf,
  del,
  dualStack,
  expectFault,
} from './plugin.ts'

const link = (lab: Lab, device: string, netns?: string): Json => lab.ip(`${at(netns)}-d -j link show dev ${device}`)[0]
const hostEnd = (one: Attachment): string => one.result.interfaces[1].name
const sysctl = (lab: Lab, name: string): string => lab.must('cat', `/proc/sys/net/${name}`).trim()

interface Option {
  name: string
  keys: Json
  call?: Call
  holds(lab: Lab, one: Attachment): void
}

const options: Option[] = [
  {
    name: 'isGateway switches forwarding on for the families in use',
    keys: { ipam: { ranges: [[{ subnet: '10.9.0.0/24' }], [{ subnet: 'fd00:9::/64' }]] } },
    holds: (lab) =>
      expect([sysctl(lab, 'ipv4/ip_forward'), sysctl(lab, 'ipv6/conf/all/forwarding')]).toEqual(['1', '1']),
  },
  {
    name: 'without isGateway the bridge has no address, and forwarding stays as it is',
    keys: { isGateway: false, ipMasq: false, ipam: { routes: [] } },
    holds: (lab) => {
      expect(addresses(lab, BRIDGE)).toEqual([])
      expect(addresses(lab, BRIDGE, undefined, true)).toEqual([expect.stringMatching(/^fe80:/)])
      expect(sysctl(lab, 'ipv4/ip_forward')).toBe('0')
    },
  },
  {
    name: 'isDefaultGateway gives the default route',
    keys: { isGateway: false, isDefaultGateway: true, ipam: { routes: [] } },
    holds: (lab, one) => {
      expect(addresses(lab, BRIDGE)).toEqual(['10.9.0.1/24'])
      expect(lab.ip('-n a -j route show default')).toMatchObject([{ gateway: '10.9.0.1', dev: 'eth0' }])
      expect(one.result.routes).toEqual([{ dst: '0.0.0.0/0', gw: '10.9.0.1' }])
    },
  },
  {
    name: 'isDefaultGateway beside a default route of the IPAM section makes it once',
    keys: { isDefaultGateway: true },
    holds: (lab) => expect(lab.ip('-n a -j route show default')).toHaveLength(1),
  },
  {
    name: 'hairpinMode',
    keys: { hairpinMode: true },
    holds: (lab, one) => expect(link(lab, hostEnd(one)).linkinfo.info_slave_data.hairpin).toBe(true),
  },
  {
    name: 'no hairpinMode',
    keys: {},
    holds: (lab, one) => expect(link(lab, hostEnd(one)).linkinfo.info_slave_data.hairpin).toBe(false),
  },
  {
    name: 'promiscMode',
    keys: { promiscMode: true },
    holds: (lab) => expect(link(lab, BRIDGE).flags).toContain('PROMISC'),
  },
  {
    name: 'mtu',
    keys: { mtu: 1400 },
    holds: (lab, one) =>
      expect([link(lab, hostEnd(one)).mtu, link(lab, 'eth0', 'a').mtu, link(lab, BRIDGE).mtu]).toEqual([
        1400, 1400, 1400,
      ]),
  },
  {
    name: 'portIsolation',
    keys: { portIsolation: true },
    holds: (lab, one) => expect(link(lab, hostEnd(one)).linkinfo.info_slave_data.isolated).toBe(true),
  },
  {
    name: 'IPv6 addresses can be used at once without enabledad',
    keys: { ipam: { ranges: [[{ subnet: 'fd00:9::/64' }]], routes: [] } },
    holds: (lab) =>
      expect(lab.must('ip', '-n', 'a', '-6', 'addr', 'show', 'dev', 'eth0', 'scope', 'global')).not.toMatch(
        /tentative/,
      ),
  },
  {
    name: 'enabledad: the address was looked for, and can be used when ADD returns',
    keys: { enabledad: true, ipam: { ranges: [[{ subnet: 'fd00:9::/64' }]], routes: [] } },
    holds: (lab) =>
      expect(lab.must('ip', '-n', 'a', '-6', 'addr', 'show', 'dev', 'eth0', 'scope', 'global')).not.toMatch(
        /tentative|nodad/,
      ),
  },
  {
    name: 'a link-local address is there when ADD returns',
    keys: {},
    holds: (lab) => expect(addresses(lab, 'eth0', 'a', true)).toEqual(['10.9.0.2/24', expect.stringMatching(/^fe80:/)]),
  },
  {
    name: 'dns of the configuration',
    keys: { dns: { nameservers: ['10.1.1.1'], domain: 'd.example', search: ['s.example'], options: ['ndots:5'] } },
    holds: (_lab, one) =>
      expect(one.result.dns).toEqual({
        nameservers: ['10.1.1.1'],
        domain: 'd.example',
        search: ['s.example'],
        options: ['ndots:5'],
      }),
  },
  {
    name: 'resolvConf of the IPAM section',
    keys: { ipam: { resolvConf: '/run/resolv' } },
    holds: (_lab, one) =>
      expect(one.result.dns).toEqual({
        nameservers: ['10.2.2.2', 'fd00::53'],
        domain: 'd.example',
        search: ['a.example', 'b.example'],
        options: ['ndots:3'],
      }),
  },
  {
    name: 'an interface without IPAM: up, no address, no gateway',
    keys: { isGateway: false, ipMasq: false, ipam: { type: undefined, ranges: undefined, routes: undefined } },
    holds: (lab, one) => {
      expect(link(lab, 'eth0', 'a').flags).toContain('LOWER_UP')
      expect(addresses(lab, 'eth0', 'a')).toEqual([])
      expect(one.result.ips ?? []).toEqual([])
    },
  },
  {
    name: 'disableContainerInterface: down and without address',
    keys: {
      isGateway: false,
      ipMasq: false,
      disableContainerInterface: true,
      ipam: { type: undefined, ranges: undefined, routes: undefined },
    },
    holds: (lab) => {
      expect(link(lab, 'eth0', 'a').flags).not.toContain('UP')
      expect(addresses(lab, 'eth0', 'a', true)).toEqual([])
    },
  },
  {
    name: 'macspoofchk: frames with another source address are dropped',
    keys: { macspoofchk: true },
    holds: (lab, one) => {
      const change = (address: string) => lab.must('ip', '-n', 'a', 'link', 'set', 'eth0', 'address', address)
      expect(ping(lab, 'a', '10.9.0.1')).toBe(true)
      change('02:00:00:00:00:66')
      expect(isSilent(lab, 'a', '10.9.0.1')).toBe(true)
      change(one.result.interfaces[2].mac)
      expect(ping(lab, 'a', '10.9.0.1')).toBe(true)
    },
  },
  {
    name: 'masquerade by iptables: a rule of POSTROUTING names the address',
    keys: { ipMasqBackend: 'iptables' },
    holds: (lab) => expect(lab.must('iptables-save', '-t', 'nat')).toMatch(/^-A POSTROUTING .*10\.9\.0\.2/m),
  },
  {
    name: 'an address asked for by CNI_ARGS',
    keys: {},
    call: { args: 'IgnoreUnknown=1;IP=10.9.0.77' },
    holds: (_lab, one) => expect(addressesOf(one.result)).toEqual(['10.9.0.77']),
  },
  {
    name: 'addresses asked for by runtimeConfig, without prefix length',
    keys: { capabilities: { ips: true }, runtimeConfig: { ips: ['10.9.0.78'] } },
    holds: (_lab, one) => expect(addressesOf(one.result)).toEqual(['10.9.0.78']),
  },
  {
    name: 'addresses asked for by args.cni',
    keys: { args: { cni: { ips: ['10.9.0.79/24'] } } },
    holds: (_lab, one) => expect(addressesOf(one.result)).toEqual(['10.9.0.79']),
  },
  {
    name: 'the hardware address of CNI_ARGS',
    keys: { ipam: { type: undefined, ranges: undefined, routes: undefined }, isGateway: false, ipMasq: false },
    call: { args: 'IgnoreUnknown=1;MAC=02:00:00:00:00:77' },
    holds: (lab, one) =>
      expect([link(lab, 'eth0', 'a').address, one.result.interfaces[2].mac]).toEqual([
        '02:00:00:00:00:77',
        '02:00:00:00:00:77',
      ]),
  },
  {
    name: 'the hardware address of runtimeConfig goes before those of args.cni and CNI_ARGS',
    keys: {
      args: { cni: { mac: '02:00:00:00:00:02' } },
      runtimeConfig: { mac: '02:00:00:00:00:01' },
      capabilities: { mac: true },
    },
    call: { args: 'IgnoreUnknown=1' },
    holds: (lab) => expect(link(lab, 'eth0', 'a').address).toBe('02:00:00:00:00:01'),
  },
  {
    name: 'keys in another case, as Go reads them',
    keys: { hairpinMode: undefined, HairpinMode: true, RuntimeConfig: { IPs: ['10.9.0.80/24'] } },
    holds: (lab, one) => {
      expect(link(lab, hostEnd(one)).linkinfo.info_slave_data.hairpin).toBe(true)
      expect(addressesOf(one.result)).toEqual(['10.9.0.80'])
    },
  },
]

forEachExecutable((executable) => {
  test.each(options)('$name', async ({ keys, call, holds }) => {
    const lab = await openLab(executable)
    writeFileSync(
      `${lab.root}/run/resolv`,
      'nameserver 10.2.2.2\nnameserver fd00::53\ndomain d.example\nsearch a.example b.example\noptions ndots:3\n',
    )
    const one = add(lab, 'a', conf(keys), call)
    holds(lab, one)
    expect(check(lab, one, call)).toMatchObject({ status: 0, stdout: '' })
    del(lab, one, call)
    expect(leftovers(lab, ...marksOf({ ...one, result: { ips: [], ...one.result } }))).toEqual([])
  })

  test('mtu, advmss, priority, table and scope of a route are in the kernel, and CHECK compares them', async () => {
    const lab = await openLab(executable)
    const routes = [
      { dst: '0.0.0.0/0', mtu: 1400, advmss: 1300, priority: 77 },
      { dst: '203.0.113.0/24', table: 200, mtu: 1300 },
      { dst: '198.51.100.0/24', scope: 253 },
      { dst: '::/0', mtu: 1410, priority: 78 },
    ]
    const one = add(lab, 'a', dualStack({ ipam: { routes } }))
    const kernel = [4, 6].flatMap((family) => lab.ip(`-n a -${family} -j route show table all`))
    const route = (dst: string, gateway?: string) => kernel.find((r: Json) => r.dst === dst && r.gateway === gateway)
    expect(route('default', '10.9.0.1')).toMatchObject({ metric: 77, metrics: [{ mtu: 1400, advmss: 1300 }] })
    expect(route('203.0.113.0/24', '10.9.0.1')).toMatchObject({ table: '200', metrics: [{ mtu: 1300 }] })
    expect(route('198.51.100.0/24')).toMatchObject({ scope: 'link', dev: 'eth0' })
    expect(route('default', 'fd00:9::1')).toMatchObject({ metric: 78, metrics: [{ mtu: 1410 }] })
    expect(check(lab, one)).toMatchObject({ status: 0 })
    for (const change of [
      'route replace default via 10.9.0.1 dev eth0 metric 77 mtu 1399 advmss 1300',
      'route replace default via 10.9.0.1 dev eth0 metric 77 mtu 1400 advmss 1299',
      'route del 203.0.113.0/24 table 200',
    ]) {
      lab.must('ip', '-n', 'a', ...change.split(' '))
      expectFault(check(lab, one), { about: /want|missing/ })
      lab.must(
        'ip',
        '-n',
        'a',
        'route',
        'replace',
        ...'default via 10.9.0.1 dev eth0 metric 77 mtu 1400 advmss 1300'.split(' '),
      )
    }
  })
})
