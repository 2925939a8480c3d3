import { describe, expect, test } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { kindOf, nameOf } from '../../src/core/kinds.ts'
import type { Observed, Of, Op, Resource, SeenLink, SeenRoute } from '../../src/core/resource.ts'
import { address as addressSeen, attachment, cidr, ip, links, seen } from './seen.ts'

const reservation: Of<'reservation'> = { kind: 'reservation', address: '10.9.0.2', attachment }
const veth: Of<'veth'> = {
  kind: 'veth',
  host: 'veth1',
  ifname: 'eth0',
  hostMac: '02:00:00:00:00:02',
  mac: '02:00:00:00:00:03',
  mtu: 0,
  label: 'pontoon:net1/c1/eth0',
  netns: '/proc/7/fd/5',
}
const bridge: Of<'bridge'> = { kind: 'bridge', name: 'cni0', mac: '02:00:00:00:00:01', mtu: 0, promisc: false }
const sysctl: Of<'sysctl'> = { kind: 'sysctl', key: 'net/ipv4/ip_forward', value: '1' }
const gateway: Of<'gateway'> = { kind: 'gateway', bridge: 'cni0', cidr: cidr('10.9.0.1/24'), force: false }
const gateway6: Of<'gateway'> = { ...gateway, cidr: cidr('fd00:9::1/64') }
const port: Of<'port'> = { kind: 'port', host: 'veth1', bridge: 'cni0', hairpin: false, isolated: false }
const link: Of<'link'> = { kind: 'link', ifname: 'eth0', host: 'veth1', mac: '02:00:00:00:00:03', mtu: 1500 }
const address: Of<'address'> = { kind: 'address', ifname: 'eth0', cidr: cidr('10.9.0.2/24'), dad: false }
const address6: Of<'address'> = { ...address, cidr: cidr('fd00:9::2/64') }
const route: Of<'route'> = {
  kind: 'route',
  ifname: 'eth0',
  dst: cidr('10.20.0.0/16'),
  via: ip('10.9.0.1'),
  onlink: false,
  mtu: 0,
  advmss: 0,
  priority: 0,
  table: 0,
  scope: undefined,
}

/** `host: …` and `sandbox: …` are lines of ip, `KEY=VALUE` is a sysctl (`KEY?=VALUE`: best effort). */
function print(op: Op): string {
  if (op.tool === 'ip') return `${op.on}: ${op.line}`
  if (op.tool === 'nft' || op.tool === 'iptables') return op.lines.join('; ')
  if (op.tool === 'bridge') return `bridge: ${op.line}`
  return op.tool === 'sysctl' ? `${op.key}${op.optional ? '?' : ''}=${op.value}` : `${op.action} ${op.address}`
}

describe('create', () => {
  test.each<[name: string, want: Resource, lines: string[]]>([
    ['a reservation', reservation, ['reserve 10.9.0.2']],
    [
      'a veth',
      veth,
      [
        'host: link add name veth1 address 02:00:00:00:00:02' +
          ' type veth peer name eth0 address 02:00:00:00:00:03 netns /proc/7/fd/5',
        'host: link set dev veth1 alias pontoon:net1/c1/eth0',
      ],
    ],
    [
      'a veth with an MTU: both ends have it',
      { ...veth, mtu: 1400 },
      [
        'host: link add name veth1 address 02:00:00:00:00:02 mtu 1400' +
          ' type veth peer name eth0 address 02:00:00:00:00:03 mtu 1400 netns /proc/7/fd/5',
        'host: link set dev veth1 alias pontoon:net1/c1/eth0',
      ],
    ],
    [
      'a bridge',
      bridge,
      [
        'host: link add name cni0 address 02:00:00:00:00:01 type bridge',
        'net/ipv6/conf/cni0/accept_ra?=0',
        'host: link set dev cni0 up',
      ],
    ],
    [
      'a bridge with an MTU that listens to all',
      { ...bridge, mtu: 1400, promisc: true },
      [
        'host: link add name cni0 address 02:00:00:00:00:01 mtu 1400 type bridge',
        'net/ipv6/conf/cni0/accept_ra?=0',
        'host: link set dev cni0 up promisc on',
      ],
    ],
    ['a sysctl', sysctl, ['net/ipv4/ip_forward=1']],
    ['a gateway', gateway, ['host: addr add 10.9.0.1/24 dev cni0 brd +']],
    ['a gateway of a /31', { ...gateway, cidr: cidr('10.9.0.4/31') }, ['host: addr add 10.9.0.4/31 dev cni0']],
    ['a gateway of a /32', { ...gateway, cidr: cidr('10.9.0.4/32') }, ['host: addr add 10.9.0.4/32 dev cni0']],
    [
      'a route of the node',
      { kind: 'hostRoute', address: ip('10.9.0.4'), device: 'cni0' },
      ['host: route replace 10.9.0.4/32 dev cni0 proto 122'],
    ],
    [
      'an IPv6 route of the node',
      { kind: 'hostRoute', address: ip('fd00:9::4'), device: 'cni0.7' },
      ['host: route replace fd00:9::4/128 dev cni0.7 proto 122'],
    ],
    ['an IPv6 gateway', gateway6, ['host: addr add fd00:9::1/64 dev cni0 nodad']],
    ['a port', port, ['host: link set dev veth1 master cni0 up']],
    [
      'a port with all of its settings',
      { ...port, hairpin: true, isolated: true },
      ['host: link set dev veth1 master cni0 up', 'host: link set dev veth1 type bridge_slave hairpin on isolated on'],
    ],
    [
      'an isolated port',
      { ...port, isolated: true },
      ['host: link set dev veth1 master cni0 up', 'host: link set dev veth1 type bridge_slave isolated on'],
    ],
    ['a link', link, ['sandbox: link set dev eth0 up']],
    ['an address', address, ['sandbox: addr add 10.9.0.2/24 dev eth0 brd +']],
    ['an IPv6 address', address6, ['sandbox: addr add fd00:9::2/64 dev eth0 nodad']],
    [
      'an IPv6 address that is to be checked for duplicates',
      { ...address6, dad: true },
      ['sandbox: addr add fd00:9::2/64 dev eth0'],
    ],
    ['a route', route, ['sandbox: route append 10.20.0.0/16 via 10.9.0.1 dev eth0']],
    ['a route without gateway', { ...route, via: undefined }, ['sandbox: route append 10.20.0.0/16 dev eth0']],
    [
      'a route with everything',
      { ...route, onlink: true, priority: 10, table: 1000, scope: 0, mtu: 1400, advmss: 1360 },
      [
        'sandbox: route append 10.20.0.0/16 via 10.9.0.1 dev eth0 onlink metric 10 table 1000 scope 0 mtu 1400' +
          ' advmss 1360',
      ],
    ],
    [
      'an IPv6 route has no scope',
      { ...route, dst: cidr('::/0'), via: ip('fd00:9::1'), scope: 0 },
      ['sandbox: route append ::/0 via fd00:9::1 dev eth0'],
    ],
  ])('%s', (_, want, lines) => {
    expect(kindOf(want).create(want).map(print)).toEqual(lines)
  })
})

describe('remove', () => {
  test.each<[want: Resource, lines: string[]]>([
    [reservation, ['release 10.9.0.2']],
    [veth, ['host: link del dev veth1']],
    [bridge, ['host: link del dev cni0']],
    [gateway, ['host: addr del 10.9.0.1/24 dev cni0']],
    [sysctl, []],
    [port, []],
    [link, []],
    [address, []],
    [route, []],
  ])('$kind', (want, lines) => {
    expect(kindOf(want).remove(want).map(print)).toEqual(lines)
  })
})

describe('repair', () => {
  const crowded = links({
    cni0: {
      addresses: ['10.9.0.254/24', '10.8.0.1/24', '10.9.0.9/32', 'fd00:9::7/64', 'fe80::1/64'].map((a) =>
        addressSeen(a),
      ),
    },
  })
  test.each<[name: string, want: Resource, host: ReadonlyMap<string, SeenLink>, lines: string[]]>([
    ['a bridge that is down', bridge, links({ cni0: { up: false } }), ['host: link set dev cni0 up']],
    [
      'a bridge that does not listen to all',
      { ...bridge, promisc: true },
      links({ cni0: {} }),
      ['host: link set dev cni0 up promisc on'],
    ],
    ['a bridge that is none', bridge, links({ cni0: { type: 'dummy' } }), []],
    ['forwarding that is off', sysctl, links({}), ['net/ipv4/ip_forward=1']],
    ['a gateway that is not to be forced', gateway, crowded, []],
    [
      'a gateway by force: only what is in its way goes',
      { ...gateway, force: true },
      crowded,
      [
        'host: addr del 10.9.0.254/24 dev cni0',
        'host: addr del 10.9.0.9/32 dev cni0',
        'host: addr add 10.9.0.1/24 dev cni0 brd +',
      ],
    ],
    [
      'an IPv6 gateway by force',
      { ...gateway6, force: true },
      crowded,
      ['host: addr del fd00:9::7/64 dev cni0', 'host: addr add fd00:9::1/64 dev cni0 nodad'],
    ],
  ])('%s', (_, want, host, lines) => {
    expect(kindOf(want).repair?.(want, seen({ host })).map(print)).toEqual(lines)
  })

  test.each([reservation, veth, port, link, address, route])(
    '$kind: there is none, a difference is a conflict',
    (want) => {
      expect(kindOf(want as Resource).repair).toBeUndefined()
    },
  )
})

describe('what ADD does when it is there, and whether it is shared', () => {
  test.each<[want: Resource, scope: string, whenPresent: string]>([
    [reservation, 'attachment', 'keep'],
    [veth, 'attachment', 'refuse'],
    [bridge, 'network', 'keep'],
    [sysctl, 'network', 'keep'],
    [gateway, 'network', 'keep'],
    [port, 'attachment', 'refuse'],
    [link, 'attachment', 'refuse'],
    [address, 'attachment', 'refuse'],
    [route, 'attachment', 'refuse'],
  ])('$kind: %s, %s', (want, scope, whenPresent) => {
    expect([kindOf(want).scope, kindOf(want).whenPresent]).toEqual([scope, whenPresent])
  })
})

const seenRoute: SeenRoute = {
  dst: '10.20.0.0/16',
  via: '10.9.0.1',
  table: 254,
  scope: 0,
  priority: 0,
  mtu: 0,
  advmss: 0,
}
const forwarding = { state: 'forwarding', hairpin: false, isolated: false }
const onBridge: Partial<SeenLink> = { type: 'veth', master: 'cni0', port: forwarding }
const inside = (parts: Partial<SeenLink>) => ({
  sandbox: links({ eth0: { type: 'veth', index: 2, mac: '02:00:00:00:00:03', ...parts } }),
})
const withAddresses = (...addresses: string[]) => ({
  host: links({ cni0: { addresses: addresses.map((a) => addressSeen(a)) } }),
})

describe('inspect', () => {
  /** `want … have …` for a difference. */
  test.each<[name: string, want: Resource, has: Partial<Observed>, finding: string]>([
    ['a reservation', reservation, { reservations: new Map([['10.9.0.2', 'c1 eth0']]) }, 'present'],
    ['a reservation of the oldest format', reservation, { reservations: new Map([['10.9.0.2', 'c1']]) }, 'present'],
    ['a reservation of another address', reservation, { reservations: new Map([['10.9.0.3', 'c1 eth0']]) }, 'absent'],
    [
      'a reservation of another interface',
      reservation,
      { reservations: new Map([['10.9.0.2', 'c1 eth1']]) },
      'want c1 eth0 have c1 eth1',
    ],
    ['a reservation of nobody', reservation, { reservations: new Map([['10.9.0.2', '']]) }, 'want c1 eth0 have nobody'],

    ['no veth', veth, {}, 'absent'],
    ['a veth', veth, { host: links({ veth1: { type: 'veth', peer: 2 } }) }, 'present'],
    ['a veth of that name that is a bridge', veth, { host: links({ veth1: {} }) }, 'want a veth have a bridge'],
    [
      'a veth of that name that is of no kind',
      veth,
      { host: links({ veth1: { type: '' } }) },
      'want a veth have a device',
    ],
    [
      'a veth that leads into the sandbox',
      veth,
      { host: links({ veth1: { type: 'veth', peer: 2 } }), ...inside({}) },
      'present',
    ],
    [
      'a veth that leads elsewhere',
      veth,
      { host: links({ veth1: { type: 'veth', peer: 7 } }), ...inside({}) },
      'want eth0 as its other end (index 2) have index 7',
    ],

    ['no bridge', bridge, {}, 'absent'],
    ['a bridge', bridge, { host: links({ cni0: { mac: '02:00:00:00:00:77' } }) }, 'present'],
    ['a bridge that is a veth', bridge, { host: links({ cni0: { type: 'veth' } }) }, 'want a bridge have a veth'],
    ['a bridge that is a device', bridge, { host: links({ cni0: { type: '' } }) }, 'want a bridge have a device'],
    ['a bridge that is down', bridge, { host: links({ cni0: { up: false } }) }, 'want up have down'],
    ['a bridge that listens to all, unasked', bridge, { host: links({ cni0: { promisc: true } }) }, 'present'],
    [
      'a bridge that should listen to all',
      { ...bridge, promisc: true },
      { host: links({ cni0: {} }) },
      'want promisc on have promisc off',
    ],
    [
      'a bridge that listens to all',
      { ...bridge, promisc: true },
      { host: links({ cni0: { promisc: true } }) },
      'present',
    ],

    ['no sysctl', sysctl, {}, 'absent'],
    ['a sysctl', sysctl, { sysctls: new Map([['net/ipv4/ip_forward', '1']]) }, 'present'],
    ['another value', sysctl, { sysctls: new Map([['net/ipv4/ip_forward', '0']]) }, 'want 1 have 0'],

    ['a gateway on no bridge', gateway, {}, 'absent'],
    ['a gateway on a bare bridge', gateway, withAddresses(), 'absent'],
    ['a gateway', gateway, withAddresses('10.8.0.1/24', '10.9.0.1/24'), 'present'],
    ['a gateway beside another of its subnet', gateway, withAddresses('10.9.0.254/24', '10.9.0.1/24'), 'present'],
    ['a gateway beside other subnets', gateway, withAddresses('10.8.0.1/24', 'fd00:9::1/64'), 'absent'],
    ['a gateway of another prefix length', gateway, withAddresses('10.9.0.1/16'), 'want 10.9.0.1/24 have 10.9.0.1/16'],
    [
      'other gateways in its place',
      gateway,
      withAddresses('10.9.0.254/24', '10.9.0.9/32', '10.8.0.1/24'),
      'want 10.9.0.1/24 have 10.9.0.254/24, 10.9.0.9/32',
    ],
    ['an IPv6 gateway beside a link-local one', gateway6, withAddresses('fe80::1/64', '10.9.0.1/24'), 'absent'],
    ['an IPv6 gateway in its place', gateway6, withAddresses('fd00:9::7/64'), 'want fd00:9::1/64 have fd00:9::7/64'],

    ['no port', port, {}, 'absent'],
    ['a link that is no port', port, { host: links({ veth1: { type: 'veth' } }) }, 'absent'],
    ['a port', port, { host: links({ veth1: onBridge }) }, 'present'],
    [
      'a port whose settings are not known',
      port,
      { host: links({ veth1: { ...onBridge, port: undefined } }) },
      'present',
    ],
    [
      'a port of another bridge',
      port,
      { host: links({ veth1: { ...onBridge, master: 'br7' } }) },
      'want cni0 have br7',
    ],
    ['a port that is down', port, { host: links({ veth1: { ...onBridge, up: false } }) }, 'want up have down'],
    [
      'a port that should send back',
      { ...port, hairpin: true },
      { host: links({ veth1: onBridge }) },
      'want hairpin on have hairpin off',
    ],
    [
      'a port that should not send back',
      port,
      { host: links({ veth1: { ...onBridge, port: { ...forwarding, hairpin: true } } }) },
      'want hairpin off have hairpin on',
    ],
    [
      'a port that should be isolated',
      { ...port, isolated: true },
      { host: links({ veth1: onBridge }) },
      'want isolated on have isolated off',
    ],
    [
      'a port that is isolated',
      { ...port, isolated: true },
      { host: links({ veth1: { ...onBridge, port: { ...forwarding, isolated: true } } }) },
      'present',
    ],

    ['no link', link, {}, 'absent'],
    ['a link', link, inside({}), 'present'],
    ['a link on the host is not meant', link, { host: links({ eth0: {} }) }, 'absent'],
    [
      'a link of another hardware address',
      link,
      inside({ mac: '02:00:00:00:00:77' }),
      'want 02:00:00:00:00:03 have 02:00:00:00:00:77',
    ],
    ['a link whose hardware address is anyones', { ...link, mac: '' }, inside({ mac: '02:00:00:00:00:77' }), 'present'],
    ['a link of a larger MTU', link, inside({ mtu: 1501 }), 'want mtu 1500 have mtu 1501'],
    ['a link whose MTU a later plugin lowered', link, inside({ mtu: 1400 }), 'present'],
    ['a link whose MTU is anyones', { ...link, mtu: 0 }, inside({ mtu: 1501 }), 'present'],
    ['a link that is down', link, inside({ up: false }), 'want up have down'],

    ['an address on no link', address, {}, 'absent'],
    ['an address', address, inside({ addresses: [addressSeen('10.9.0.2/24')] }), 'present'],
    ['an address of another prefix length', address, inside({ addresses: [addressSeen('10.9.0.2/16')] }), 'absent'],
    [
      'an address that is still checked',
      address6,
      inside({ addresses: [addressSeen('fd00:9::2/64', { tentative: true })] }),
      'present',
    ],
    [
      'an address that another host has',
      address6,
      inside({ addresses: [addressSeen('fd00:9::2/64', { failed: true })] }),
      'want a unique address have a duplicate on the link (dadfailed)',
    ],

    ['no route', route, {}, 'absent'],
    ['a route', route, { routes: [seenRoute] }, 'present'],
    [
      'a route that asked for no table, moved to one by a later plugin',
      route,
      { routes: [{ ...seenRoute, table: 7 }] },
      'present',
    ],
    ['a route of the asked-for table', { ...route, table: 7 }, { routes: [{ ...seenRoute, table: 7 }] }, 'present'],
    ['a route in main, not in the asked-for table', { ...route, table: 7 }, { routes: [seenRoute] }, 'absent'],
    [
      'a route by another gateway',
      route,
      { routes: [{ ...seenRoute, via: '10.9.0.9' }] },
      'want via 10.9.0.1 have via 10.9.0.9',
    ],
    [
      'a route that lost its gateway',
      route,
      { routes: [{ ...seenRoute, via: '' }] },
      'want via 10.9.0.1 have via none',
    ],
    ['a route with more than was asked for', route, { routes: [{ ...seenRoute, priority: 9, mtu: 9 }] }, 'present'],
    [
      'the best of several routes is told of',
      { ...route, priority: 10, mtu: 1400 },
      {
        routes: [
          { ...seenRoute, via: '10.9.0.9' },
          { ...seenRoute, priority: 10 },
        ],
      },
      'want mtu 1400 have mtu none',
    ],
    [
      'one of several routes is right',
      { ...route, priority: 10 },
      { routes: [seenRoute, { ...seenRoute, priority: 10 }] },
      'present',
    ],
    [
      'a route of another scope',
      { ...route, via: undefined, scope: 253 },
      { routes: [{ ...seenRoute, via: '', scope: 0 }] },
      'want scope 253 have scope none',
    ],
    [
      'a route of other sizes',
      { ...route, mtu: 1400, advmss: 1360 },
      { routes: [{ ...seenRoute, mtu: 1300, advmss: 1260 }] },
      'want mtu 1400 advmss 1360 have mtu 1300 advmss 1260',
    ],
    [
      'an IPv6 route, whose scope is not the configuration’s',
      { ...route, dst: cidr('::/0'), via: ip('fd00:9::1'), scope: 77 },
      { routes: [{ ...seenRoute, dst: '::/0', via: 'fd00:9::1' }] },
      'present',
    ],
  ])('%s', (_, want, has, expected) => {
    const finding = kindOf(want).inspect(want, seen(has))
    expect(finding.is === 'different' ? `want ${finding.want} have ${finding.have}` : finding.is).toBe(expected)
  })
})

const hostile = 'x\nlink del dev cni0'

test.each<Resource>([
  { ...veth, ifname: hostile },
  { ...veth, label: hostile },
  { ...veth, netns: hostile },
  { ...bridge, name: hostile },
  { ...gateway, bridge: hostile },
  { ...port, bridge: hostile },
  { ...link, ifname: hostile },
  { ...address, ifname: hostile },
  { ...route, ifname: hostile },
])('$kind: a name that would be a second command is refused', (want) => {
  expect(() => kindOf(want).create(want)).toThrow(expect.objectContaining({ code: CODE.invalidConfig }))
})

test('names are those that people read', () => {
  expect(
    [reservation, veth, bridge, sysctl, gateway, port, link, address, route, { ...route, table: 7 }].map(nameOf),
  ).toEqual([
    'reservation 10.9.0.2',
    'veth veth1',
    'bridge cni0',
    'sysctl net.ipv4.ip_forward',
    'gateway 10.9.0.1/24 on cni0',
    'port veth1',
    'interface eth0',
    'address 10.9.0.2/24 on eth0',
    'route 10.20.0.0/16',
    'route 10.20.0.0/16 in table 7',
  ])
})
