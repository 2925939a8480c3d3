import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLinks, readRoutes } from '../../src/host/ip-json.ts'

/** One document a line, as `ip -batch` prints them. */
function recorded(name: string): readonly unknown[] {
  const text = readFileSync(join(import.meta.dirname, '../fixtures/tools', name), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const address = (cidr: string) => ({ family: cidr.includes(':') ? 6 : 4, cidr, tentative: false, failed: false })
const links = readLinks(recorded('host_iproute2-6.1.0.txt'))
const inside = recorded('sandbox_iproute2-6.1.0.txt')

test('a bridge', () => {
  expect(links.get('cni0')).toMatchObject({
    index: 2,
    name: 'cni0',
    type: 'bridge',
    mac: '02:00:00:00:00:01',
    mtu: 1400,
    up: true,
    running: true,
    promisc: true,
    master: undefined,
    peer: undefined,
    alias: undefined,
    port: undefined,
    addresses: [address('10.9.0.1/24'), address('fd00:9::1/64'), address('fe80::ff:fe00:1/64')],
  })
})

test('a port with its settings, its label, and the other end', () => {
  expect(links.get('veth0')).toMatchObject({
    index: 3,
    name: 'veth0',
    type: 'veth',
    mac: '02:00:00:00:00:02',
    mtu: 1400,
    up: true,
    running: true,
    promisc: false,
    master: 'cni0',
    peer: 2,
    alias: 'pontoon:net1/c1/eth0/shop/cart-0',
    port: { state: 'forwarding', hairpin: true, isolated: true },
  })
})

test('a device of no kind; what is missing is not there', () => {
  expect(links.get('lo')).toMatchObject({ type: '', up: true, running: true, port: undefined })
  expect([...links.keys()]).toEqual(['cni0', 'veth0', 'lo'])
})

test('the sandbox end knows the index of the host end, and the other way round', () => {
  const eth0 = readLinks(inside).get('eth0')
  expect([eth0?.index, eth0?.peer]).toEqual([links.get('veth0')?.peer, links.get('veth0')?.index])
})

test('addresses that are checked for duplicates, and that failed', () => {
  const [link] = readLinks([
    [
      {
        ifindex: 2,
        ifname: 'eth0',
        flags: ['NO-CARRIER'],
        operstate: 'LOWERLAYERDOWN',
        addr_info: [
          { local: 'fd00::2', prefixlen: 64, tentative: true },
          { local: 'fd00::3', prefixlen: 64, tentative: true, dadfailed: true },
          { family: 'inet' },
        ],
      },
    ],
  ]).values()
  expect(link).toMatchObject({
    up: false,
    running: false,
    mac: '',
    mtu: 0,
    addresses: [
      { family: 6, cidr: 'fd00::2/64', tentative: true, failed: false },
      { family: 6, cidr: 'fd00::3/64', tentative: true, failed: true },
    ],
  })
})

test('routes of all tables and both families', () => {
  const none = { via: '', table: 254, scope: 0, priority: 0, mtu: 0, advmss: 0 }
  const routes = readRoutes(inside, 'eth0')
  expect(routes.filter(({ table }) => table !== 255)).toEqual([
    { ...none, dst: '10.22.0.0/16', table: 7, scope: 77 },
    { ...none, dst: '10.20.0.0/16', via: '10.9.0.1', table: 1000, priority: 100, mtu: 1300, advmss: 1260 },
    { ...none, dst: '0.0.0.0/0', via: '10.9.0.1' },
    { ...none, dst: '10.9.0.0/24', scope: 253 },
    { ...none, dst: '10.21.0.1/32', scope: 253 },
    { ...none, dst: 'fd00:9::/64', priority: 256 },
    { ...none, dst: 'fd00:20::/32', via: 'fd00:9::1', priority: 100, mtu: 1300 },
    { ...none, dst: 'fe80::/64', priority: 256 },
    { ...none, dst: '::/0', via: 'fd00:9::1', priority: 1024 },
  ])
  expect(routes.filter(({ table }) => table === 255).map(({ dst }) => dst)).toEqual([
    '10.9.0.2/32',
    '10.9.0.255/32',
    'fd00:9::2/128',
    'fe80::858:aff:fe09:2/128',
    'ff00::/8',
  ])
})

test('two IPv6 routes of one destination are one with two ways: each interface has its own', () => {
  const ways = [
    { gateway: 'fd00::1', dev: 'eth0', weight: 1 },
    { gateway: 'fd01::1', dev: 'eth1', weight: 1 },
  ]
  const documents = [[{ dst: 'default', table: 'main', metric: 1024, pref: 'medium', nexthops: ways }]]
  const route = { dst: '::/0', table: 254, scope: 0, priority: 1024, mtu: 0, advmss: 0 }
  expect(readRoutes(documents, 'eth1')).toEqual([{ ...route, via: 'fd01::1' }])
})

test('links are no routes, and routes are no links', () => {
  expect(readRoutes(recorded('host_iproute2-6.1.0.txt'), 'cni0')).toEqual([])
  expect(readLinks([[{ dst: 'default', gateway: '10.9.0.1' }, null, 'text', {}]])).toEqual(new Map())
})
