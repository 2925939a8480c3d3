import { expect, test } from 'vitest'
import { type Desire, describe } from '../../src/core/describe.ts'
import { bridge } from '../../src/core/kinds/bridge.ts'
import { link } from '../../src/core/kinds/link.ts'
import { nameOf } from '../../src/core/kinds.ts'
import type { Of, SeenLink } from '../../src/core/resource.ts'
import { gatewayDeviceOf, gatewayPortOf, hasVlans, needsVlanFiltering } from '../../src/core/vlans.ts'
import { attachment, cidr, ip, links, seen } from './seen.ts'

const plain: Desire = {
  options: {
    bridge: 'cni0',
    isGateway: true,
    forceAddress: false,
    ipMasq4: true,
    ipMasq6: true,
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
  },
  attachment,
  ends: {
    host: 'veth1',
    hostMac: '02:00:00:00:00:02',
    mac: '02:00:00:00:00:03',
    label: 'pontoon:net1/c1/eth0',
    netns: '/proc/7/fd/5',
    bridgeMac: '02:00:00:00:00:01',
    inetNat: true,
    vlanGateway: { port: 'veth9', mac: '02:00:00:00:00:09' },
  },
  assigned: [{ cidr: cidr('10.9.0.2/24'), gateway: ip('10.9.0.1') }],
  routes: [],
  ownStore: true,
}
const desired = (options: Partial<Desire['options']>, more: Partial<Desire> = {}) =>
  describe({ ...plain, ...more, options: { ...plain.options, ...options } })

test('in a VLAN the gateway is a device of its own, whose bridged packets are not tracked', () => {
  expect(desired({ vlan: 100 }).map(nameOf)).toEqual([
    'reservation 10.9.0.2',
    'veth veth1',
    'bridge cni0',
    'VLAN gateway cni0.100',
    'VLANs of veth9',
    'sysctl net.ipv4.ip_forward',
    'gateway 10.9.0.1/24 on cni0.100',
    'masquerading through cni0.100',
    'port veth1',
    'VLANs of veth1',
    'interface eth0',
    'address 10.9.0.2/24 on eth0',
    'masquerade 10.9.0.2',
  ])
})

test.each<[name: string, options: Partial<Desire['options']>, more: Partial<Desire>]>([
  ['without isGateway', { vlan: 100, isGateway: false }, {}],
  ['without addresses', { vlan: 100 }, { assigned: [] }],
  ['for a trunk', { vlanTrunk: [{ min: 5, max: 9 }] }, {}],
])('there is no gateway in the VLAN %s', (_, options, more) => {
  const kinds = desired(options, more).map(({ kind }) => kind)
  expect(kinds).not.toContain('vlanGateway')
  expect(kinds).not.toContain('untracked')
  expect(kinds.filter((kind) => kind === 'vlan')).toHaveLength(1)
})

test('without ipMasq nothing is left untracked', () => {
  expect(desired({ vlan: 100, ipMasq4: false, ipMasq6: false }).map(({ kind }) => kind)).not.toContain('untracked')
})

test('a gateway and a port of one network have the same VLANs', () => {
  const vlans = desired({ vlan: 100, preserveDefaultVlan: false }).filter(({ kind }) => kind === 'vlan')
  expect(vlans).toMatchObject([
    { port: 'veth9', vlan: 100, trunk: [], keepsDefault: false },
    { port: 'veth1', vlan: 100, trunk: [], keepsDefault: false },
  ])
})

test.each<[trunk: [number, number][], want: [number, number][]]>([
  [[[5, 9]], [[5, 9]]],
  [[[100, 199]], [[101, 199]]],
  [[[1, 100]], [[1, 99]]],
  [
    [[50, 150]],
    [
      [50, 99],
      [101, 150],
    ],
  ],
  [[[100, 100]], []],
])('its own VLAN is not in its trunk: %j', (trunk, want) => {
  const ranges = (list: [number, number][]) => list.map(([min, max]) => ({ min, max }))
  const vlans = desired({ vlan: 100, vlanTrunk: ranges(trunk), preserveDefaultVlan: false }).filter(
    ({ kind }) => kind === 'vlan',
  )
  expect(vlans).toMatchObject([
    { port: 'veth9', vlan: 100, trunk: [] },
    { port: 'veth1', vlan: 100, trunk: ranges(want), keepsDefault: false },
  ])
})

test('a trunk without a VLAN of its own keeps the default one', () => {
  expect(desired({ vlanTrunk: [{ min: 5, max: 9 }], preserveDefaultVlan: false })).toContainEqual({
    kind: 'vlan',
    port: 'veth1',
    vlan: 0,
    trunk: [{ min: 5, max: 9 }],
    keepsDefault: true,
  })
})

test('IPv6 is switched on where the gateway is', () => {
  const six = { cidr: cidr('fd00:9::2/64'), gateway: ip('fd00:9::1') }
  expect(desired({ vlan: 100 }, { assigned: [six] })).toContainEqual({
    kind: 'sysctl',
    key: 'net/ipv6/conf/cni0.100/disable_ipv6',
    value: '0',
  })
})

test.each<[options: Pick<Desire['options'], 'vlan' | 'vlanTrunk'>, filtering: boolean, vlans: boolean]>([
  [{ vlan: 0, vlanTrunk: undefined }, false, false],
  [{ vlan: 0, vlanTrunk: [] }, true, false],
  [{ vlan: 0, vlanTrunk: [{ min: 5, max: 5 }] }, true, true],
  [{ vlan: 1, vlanTrunk: undefined }, true, true],
])('%j', (options, filtering, vlans) => {
  expect([needsVlanFiltering(options), hasVlans(options)]).toEqual([filtering, vlans])
  const made = desired(options).find(({ kind }) => kind === 'bridge') as Of<'bridge'>
  expect(made.vlanFiltering).toBe(filtering ? true : undefined)
  expect(desired(options).some(({ kind }) => kind === 'vlan')).toBe(vlans)
})

test('names', () => {
  expect(gatewayDeviceOf({ bridge: 'cni0', vlan: 100 })).toBe('cni0.100')
  expect(gatewayDeviceOf({ bridge: 'cni0', vlan: 0 })).toBe('cni0')
  expect(gatewayPortOf('cni0.100')).toMatch(/^veth[0-9a-f]{11}$/)
  expect(gatewayPortOf('cni0.100')).not.toBe(gatewayPortOf('cni0.101'))
})

const filtering: Of<'bridge'> = {
  kind: 'bridge',
  name: 'cni0',
  mac: '02:00:00:00:00:01',
  mtu: 0,
  promisc: false,
  vlanFiltering: true,
}

test('a bridge with VLANs asks for filtering', () => {
  expect(bridge.create(filtering)[0]).toMatchObject({
    line: 'link add name cni0 address 02:00:00:00:00:01 type bridge vlan_filtering 1',
  })
})

test.each<[have: Partial<SeenLink>, finding: object, isRepaired: boolean]>([
  [{ vlanFiltering: 'on' }, { is: 'present' }, true],
  [{ vlanFiltering: 'on', up: false }, { is: 'different', want: 'up', have: 'down' }, true],
  [{ vlanFiltering: 'off', up: false }, { is: 'different', want: 'VLAN filtering on', have: 'off' }, false],
  [
    { vlanFiltering: 'unknown to the kernel' },
    { is: 'different', want: 'VLAN filtering on', have: 'unknown to the kernel' },
    false,
  ],
])('a bridge that is there: %j', (have, finding, isRepaired) => {
  const observed = seen({ host: links({ cni0: have }) })
  expect(bridge.inspect(filtering, observed)).toEqual(finding)
  expect(bridge.repair?.(filtering, observed)).toHaveLength(isRepaired ? 1 : 0)
})

test('a bridge without VLANs takes any', () => {
  const { vlanFiltering: _, ...any } = filtering
  expect(bridge.inspect(any, seen({ host: links({ cni0: { vlanFiltering: 'on' } }) }))).toEqual({ is: 'present' })
  expect(bridge.inspect(any, seen({ host: links({ cni0: { vlanFiltering: 'off' } }) }))).toEqual({ is: 'present' })
})

test('an interface that stays down: no line, and CHECK finds it down', () => {
  const down = desired({ disableContainerInterface: true }, { assigned: [] }).find(
    ({ kind }) => kind === 'link',
  ) as Of<'link'>
  expect(link.create(down)).toEqual([])
  const inside = (up: boolean) => seen({ sandbox: links({ eth0: { type: 'veth', mac: down.mac, up } }) })
  expect(link.inspect(down, inside(false))).toEqual({ is: 'present' })
  expect(link.inspect(down, inside(true))).toEqual({ is: 'different', want: 'down', have: 'up' })
})

test('macspoofchk guards the hardware address that the pod gets', () => {
  expect(desired({ macspoofchk: true })).toContainEqual({
    kind: 'spoofcheck',
    host: 'veth1',
    mac: '02:00:00:00:00:03',
    attachment,
  })
})
