import { expect, test } from 'vitest'
import { type Desire, describe } from '../../src/core/describe.ts'
import { CODE } from '../../src/core/fault.ts'
import { formatCidr } from '../../src/core/ip.ts'
import { nameOf } from '../../src/core/kinds.ts'
import { attachment, cidr, ip } from './seen.ts'

const four = { cidr: cidr('10.9.0.2/24'), gateway: ip('10.9.0.1') }
const six = { cidr: cidr('fd00:9::2/64'), gateway: ip('fd00:9::1') }

const options = {
  bridge: 'cni0',
  isGateway: false,
  forceAddress: false,
  ipMasq4: false,
  ipMasq6: false,
  ipMasqExclude: [],
  snatTo: [],
  mtu: 0,
  hairpinMode: false,
  promiscMode: false,
  enabledad: false,
  portIsolation: false,
  vlan: 0,
  vlanTrunk: undefined,
  preserveDefaultVlan: true,
  macspoofchk: false,
  disableContainerInterface: false,
}

const ends = {
  host: 'veth1',
  hostMac: '02:00:00:00:00:02',
  mac: '02:00:00:00:00:03',
  label: 'pontoon:net1/c1/eth0',
  netns: '/proc/7/fd/5',
  bridgeMac: '02:00:00:00:00:01',
  inetNat: true,
}

const plain: Desire = { options, attachment, ends, assigned: [four], routes: [], ownStore: true }

const cases: { name: string; desire: Partial<Desire>; want: string[] }[] = [
  {
    name: 'no addresses: a port of the bridge',
    desire: { assigned: [], ownStore: false },
    want: ['veth veth1', 'bridge cni0', 'port veth1', 'interface eth0'],
  },
  {
    name: 'one address',
    desire: {},
    want: [
      'reservation 10.9.0.2',
      'veth veth1',
      'bridge cni0',
      'port veth1',
      'interface eth0',
      'address 10.9.0.2/24 on eth0',
    ],
  },
  {
    name: 'addresses that another plugin keeps',
    desire: { ownStore: false },
    want: ['veth veth1', 'bridge cni0', 'port veth1', 'interface eth0', 'address 10.9.0.2/24 on eth0'],
  },
  {
    name: 'a gateway for both families, with default routes and masquerade: the whole',
    desire: {
      options: { ...options, isGateway: true, ipMasq4: true, ipMasq6: true },
      assigned: [four, six],
      routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }, { dst: '10.20.0.0/16', table: 7 }],
    },
    want: [
      'reservation 10.9.0.2',
      'reservation fd00:9::2',
      'veth veth1',
      'bridge cni0',
      'sysctl net.ipv4.ip_forward',
      'sysctl net.ipv6.conf.cni0.disable_ipv6',
      'sysctl net.ipv6.conf.all.forwarding',
      'gateway 10.9.0.1/24 on cni0',
      'gateway fd00:9::1/64 on cni0',
      'port veth1',
      'interface eth0',
      'address 10.9.0.2/24 on eth0',
      'address fd00:9::2/64 on eth0',
      'route 0.0.0.0/0',
      'route ::/0',
      'route 10.20.0.0/16 in table 7',
      'masquerade 10.9.0.2',
      'masquerade fd00:9::2',
    ],
  },
  {
    name: 'a gateway that the range does not name: nothing is forwarded for it',
    desire: { options: { ...options, isGateway: true }, assigned: [{ cidr: cidr('10.9.0.2/32'), gateway: undefined }] },
    want: [
      'reservation 10.9.0.2',
      'veth veth1',
      'bridge cni0',
      'port veth1',
      'interface eth0',
      'address 10.9.0.2/32 on eth0',
    ],
  },
  {
    name: 'a subnet that is one address: the node needs a route to it',
    desire: {
      options: { ...options, isGateway: true },
      assigned: [{ cidr: cidr('10.9.0.2/32'), gateway: cidr('10.9.0.1/32').ip }],
    },
    want: [
      'reservation 10.9.0.2',
      'veth veth1',
      'bridge cni0',
      'sysctl net.ipv4.ip_forward',
      'gateway 10.9.0.1/32 on cni0',
      'route of the node to 10.9.0.2 on cni0',
      'port veth1',
      'interface eth0',
      'address 10.9.0.2/32 on eth0',
    ],
  },
  {
    name: 'IPv6 alone leaves forwarding of IPv4 as it is',
    desire: { options: { ...options, isGateway: true }, assigned: [six] },
    want: [
      'reservation fd00:9::2',
      'veth veth1',
      'bridge cni0',
      'sysctl net.ipv6.conf.cni0.disable_ipv6',
      'sysctl net.ipv6.conf.all.forwarding',
      'gateway fd00:9::1/64 on cni0',
      'port veth1',
      'interface eth0',
      'address fd00:9::2/64 on eth0',
    ],
  },
]

test.each(cases)('$name', ({ desire, want }) => {
  expect(describe({ ...plain, ...desire }).map(nameOf)).toEqual(want)
})

test('every option reaches its resource', () => {
  const all = {
    ...options,
    isGateway: true,
    forceAddress: true,
    ipMasq4: true,
    ipMasq6: true,
    ipMasqExclude: ['192.168.7.7/16', 'fd00::/8'],
    snatTo: ['fd00::9', '192.0.2.9'],
    mtu: 1400,
    hairpinMode: true,
    promiscMode: true,
    enabledad: true,
    portIsolation: true,
  }
  expect(describe({ ...plain, options: all, ends: { ...ends, inetNat: false } })).toEqual([
    { kind: 'reservation', address: '10.9.0.2', attachment },
    {
      kind: 'veth',
      host: 'veth1',
      hostMac: '02:00:00:00:00:02',
      mac: '02:00:00:00:00:03',
      label: 'pontoon:net1/c1/eth0',
      netns: '/proc/7/fd/5',
      ifname: 'eth0',
      mtu: 1400,
    },
    { kind: 'bridge', name: 'cni0', mac: '02:00:00:00:00:01', mtu: 1400, promisc: true },
    { kind: 'sysctl', key: 'net/ipv4/ip_forward', value: '1' },
    { kind: 'gateway', bridge: 'cni0', cidr: cidr('10.9.0.1/24'), force: true },
    { kind: 'port', host: 'veth1', bridge: 'cni0', hairpin: true, isolated: true },
    { kind: 'link', ifname: 'eth0', host: 'veth1', mac: '02:00:00:00:00:03', mtu: 1400 },
    { kind: 'address', ifname: 'eth0', cidr: cidr('10.9.0.2/24'), dad: true },
    {
      kind: 'masquerade',
      address: ip('10.9.0.2'),
      subnet: cidr('10.9.0.0/24'),
      attachment,
      inet: false,
      exclude: [cidr('192.168.0.0/16')],
      snatTo: ip('192.0.2.9'),
    },
  ])
})

test.each<[name: string, masq: Partial<Desire['options']>, natChain: string | undefined, want: string[]]>([
  ['IPv4 alone', { ipMasq4: true }, undefined, ['masquerade 10.9.0.2']],
  ['IPv6 alone', { ipMasq6: true }, undefined, ['masquerade fd00:9::2']],
  ['both', { ipMasq4: true, ipMasq6: true }, undefined, ['masquerade 10.9.0.2', 'masquerade fd00:9::2']],
  ['by iptables', { ipMasq4: true }, 'CNI-1', ['iptables 4 10.9.0.2/24']],
])('masqueraded: %s', (_, masq, natChain, want) => {
  const desire = { ...plain, options: { ...options, ...masq }, ends: { ...ends, natChain }, assigned: [four, six] }
  const found = describe(desire).flatMap((resource) => {
    if (resource.kind === 'masquerade') return [nameOf(resource)]
    return resource.kind === 'iptables' ? [`iptables ${resource.family} ${resource.pods.map(formatCidr)}`] : []
  })
  expect(found).toEqual(want)
})

test.each<[masq: Partial<Desire['options']>, message: string, details: string]>([
  [{ ipMasqExclude: ['10.0.0.0'] }, 'invalid ipMasqExclude', 'expected address/prefix; found "10.0.0.0"'],
  [{ snatTo: ['192.0.2.0/24'] }, 'invalid snatTo', 'expected an address; found "192.0.2.0/24"'],
])('refused: %j', (masq, message, details) => {
  const desire = { ...plain, options: { ...options, ipMasq4: true, ...masq } }
  expect(() => describe(desire)).toThrow(expect.objectContaining({ code: CODE.invalidConfig, message, details }))
})
