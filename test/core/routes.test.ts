import { expect, test } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { formatCidr, formatIp } from '../../src/core/ip.ts'
import { type Assigned, defaultRoutes, type RouteText, resolveRoutes } from '../../src/core/routes.ts'
import { cidr, ip } from './seen.ts'

const four: Assigned = { cidr: cidr('10.9.0.2/24'), gateway: ip('10.9.0.1') }
const six: Assigned = { cidr: cidr('fd00:9::2/64'), gateway: ip('fd00:9::1') }
const alone: Assigned = { cidr: cidr('10.8.0.2/32'), gateway: undefined }

interface Resolved {
  name: string
  route: RouteText
  assigned?: Assigned[]
  want: { dst: string; via?: string; onlink?: boolean; scope?: number }
}

const resolved: Resolved[] = [
  {
    name: 'its own gateway',
    route: { dst: '10.20.0.0/16', gw: '10.9.0.9' },
    want: { dst: '10.20.0.0/16', via: '10.9.0.9' },
  },
  {
    name: 'none: the one of its family',
    route: { dst: '10.20.0.0/16' },
    want: { dst: '10.20.0.0/16', via: '10.9.0.1' },
  },
  { name: 'none, IPv6', route: { dst: 'fd00:20::/32' }, want: { dst: 'fd00:20::/32', via: 'fd00:9::1' } },
  {
    name: 'the first of two gateways of the family',
    route: { dst: '10.20.0.0/16' },
    assigned: [alone, { cidr: cidr('10.7.0.2/24'), gateway: ip('10.7.0.1') }, four],
    want: { dst: '10.20.0.0/16', via: '10.7.0.1' },
  },
  { name: 'there is none', route: { dst: '10.20.0.0/16' }, assigned: [alone], want: { dst: '10.20.0.0/16' } },
  {
    name: 'on the link by its scope',
    route: { dst: '10.21.0.1/32', scope: 253 },
    want: { dst: '10.21.0.1/32', scope: 253 },
  },
  {
    name: 'on the link by its scope, whatever gateway is written',
    route: { dst: '10.21.0.1/32', gw: '10.9.0.1', scope: 254 },
    want: { dst: '10.21.0.1/32', scope: 254 },
  },
  {
    name: 'scope 0 is the global one',
    route: { dst: '10.21.0.1/32', scope: 0 },
    want: { dst: '10.21.0.1/32', via: '10.9.0.1', scope: 0 },
  },
  {
    name: 'outside of all subnets: taken for on-link',
    route: { dst: '0.0.0.0/0', gw: '169.254.1.1' },
    want: { dst: '0.0.0.0/0', via: '169.254.1.1', onlink: true },
  },
  {
    name: 'a link-local one needs no subnet',
    route: { dst: '::/0', gw: 'fe80::1' },
    want: { dst: '::/0', via: 'fe80::1' },
  },
  {
    name: 'a destination with host bits',
    route: { dst: '10.20.7.7/16' },
    want: { dst: '10.20.0.0/16', via: '10.9.0.1' },
  },
]

test.each(resolved)('the gateway of a route: $name', ({ route, assigned = [four, six], want }) => {
  const [{ dst, via, onlink, scope } = expect.fail('no route')] = resolveRoutes([route], assigned, 'eth0')
  expect({ dst: formatCidr(dst), via: via && formatIp(via), onlink, scope }).toEqual({
    via: undefined,
    onlink: false,
    scope: undefined,
    ...want,
  })
})

test('attributes are handed on; what is not written is 0', () => {
  const text = { dst: '10.20.0.0/16', mtu: 1400, advmss: 1360, priority: 10, table: 1000 }
  expect(resolveRoutes([text, { dst: '::/0' }], [four, six], 'net1')).toMatchObject([
    { kind: 'route', ifname: 'net1', mtu: 1400, advmss: 1360, priority: 10, table: 1000 },
    { kind: 'route', ifname: 'net1', mtu: 0, advmss: 0, priority: 0, table: 0 },
  ])
})

test.each<[name: string, route: RouteText, message: string, details: string]>([
  [
    'a destination without prefix length',
    { dst: '10.20.0.0' },
    'invalid route 1 ("10.20.0.0")',
    'dst: expected an address and a prefix length',
  ],
  [
    'a gateway of the other family',
    { dst: '10.20.0.0/16', gw: 'fd00:9::1' },
    'invalid route 1 ("10.20.0.0/16")',
    'gw: expected an IPv4 address; found "fd00:9::1"',
  ],
  [
    'a gateway that is no address',
    { dst: '::/0', gw: 'router' },
    'invalid route 1 ("::/0")',
    'gw: expected an IPv6 address; found "router"',
  ],
])('%s is refused, and told which', (_, route, message, details) => {
  expect(() => resolveRoutes([{ dst: '0.0.0.0/0' }, route], [four], 'eth0')).toThrow(
    expect.objectContaining({ code: CODE.invalidConfig, message, details }),
  )
})

test.each<[name: string, written: RouteText[], assigned: Assigned[], want: RouteText[]]>([
  ['one address', [], [four], [{ dst: '0.0.0.0/0', gw: '10.9.0.1' }]],
  [
    'two families',
    [],
    [six, four],
    [
      { dst: '0.0.0.0/0', gw: '10.9.0.1' },
      { dst: '::/0', gw: 'fd00:9::1' },
    ],
  ],
  [
    'two addresses of a family',
    [],
    [four, { cidr: cidr('10.7.0.2/24'), gateway: ip('10.7.0.1') }],
    [{ dst: '0.0.0.0/0', gw: '10.9.0.1' }],
  ],
  ['no gateway', [], [alone], []],
  [
    'the configuration has one',
    [{ dst: '0.0.0.0/0', gw: '10.9.0.9' }],
    [four, six],
    [{ dst: '::/0', gw: 'fd00:9::1' }],
  ],
  [
    'the one of the configuration is of another table',
    [{ dst: '0.0.0.0/0', table: 7 }],
    [four],
    [{ dst: '0.0.0.0/0', gw: '10.9.0.1' }],
  ],
])('default routes: %s', (_, written, assigned, want) => {
  expect(defaultRoutes(written, assigned)).toEqual(want)
})
