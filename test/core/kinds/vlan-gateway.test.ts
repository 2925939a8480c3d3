import { expect, test } from 'vitest'
import { vlanGateway } from '../../../src/core/kinds/vlan-gateway.ts'
import type { Of, SeenLink } from '../../../src/core/resource.ts'
import { links, seen } from '../seen.ts'

const want: Of<'vlanGateway'> = {
  kind: 'vlanGateway',
  bridge: 'cni0',
  name: 'cni0.100',
  mac: '02:00:00:00:00:09',
  port: 'veth9',
  mtu: 0,
}

test('a pair in one request, the named end the main one, so that the port has the index just below', () => {
  expect(vlanGateway.create(want)).toEqual([
    { tool: 'ip', on: 'host', line: 'link add name cni0.100 address 02:00:00:00:00:09 type veth peer name veth9' },
    { tool: 'sysctl', key: 'net/ipv6/conf/cni0.100/accept_ra', value: '0', optional: true },
    { tool: 'ip', on: 'host', line: 'link set dev veth9 master cni0 up' },
    { tool: 'ip', on: 'host', line: 'link set dev cni0.100 up' },
  ])
  expect(vlanGateway.remove(want)).toEqual([{ tool: 'ip', on: 'host', line: 'link del dev cni0.100' }])
})

test('both ends have the MTU', () => {
  expect(vlanGateway.create({ ...want, mtu: 1400 })[0]).toMatchObject({
    line: 'link add name cni0.100 address 02:00:00:00:00:09 mtu 1400 type veth peer name veth9 mtu 1400',
  })
})

const device: Partial<SeenLink> = { type: 'veth', peerName: 'vethab' }
const port: Partial<SeenLink> = { type: 'veth', master: 'cni0' }

test.each<[name: string, host: Record<string, Partial<SeenLink>>, finding: object, repair: string[]]>([
  ['nothing', {}, { is: 'absent' }, []],
  [
    'the reference made it: the port has a name that was drawn',
    { 'cni0.100': device, vethab: port },
    { is: 'present' },
    [],
  ],
  [
    'a VLAN device of that name',
    { 'cni0.100': { type: 'vlan' } },
    { is: 'different', want: 'a veth', have: 'a vlan' },
    [],
  ],
  [
    'the other end is in another namespace',
    { 'cni0.100': { type: 'veth' } },
    { is: 'different', want: 'a port of cni0 as its other end', have: 'one elsewhere' },
    [],
  ],
  [
    'an ADD was killed before the port was one',
    { 'cni0.100': { ...device, up: false }, vethab: { type: 'veth' } },
    { is: 'different', want: 'a port of cni0', have: 'one of nothing' },
    ['link set dev vethab master cni0 up', 'link set dev cni0.100 up'],
  ],
  [
    'down',
    { 'cni0.100': { ...device, up: false }, vethab: port },
    { is: 'different', want: 'up', have: 'down' },
    ['link set dev vethab master cni0 up', 'link set dev cni0.100 up'],
  ],
])('inspect: %s', (_, host, finding, repair) => {
  const observed = seen({ host: links(host) })
  expect(vlanGateway.inspect(want, observed)).toEqual(finding)
  if (repair.length > 0) {
    expect(vlanGateway.repair?.(want, observed)).toEqual(repair.map((line) => ({ tool: 'ip', on: 'host', line })))
  }
})

test('what is no pair with a port is a conflict: there is no repair', () => {
  expect(vlanGateway.repair?.(want, seen({ host: links({ 'cni0.100': { type: 'vlan' } }) }))).toEqual([])
})
