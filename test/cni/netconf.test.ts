import { expect, test } from 'vitest'
import { parseHead } from '../../src/cni/head.ts'
import { type NetConf, parseNetConf } from '../../src/cni/netconf.ts'
import type { Verb } from '../../src/cni/version.ts'
import { Fault } from '../../src/core/fault.ts'
import fc from '../properties.ts'

type Keys = Record<string, unknown>

function parse(keys: Keys, verb: Verb = 'ADD'): NetConf {
  return parseNetConf(parseHead(JSON.stringify({ name: 'net1', cniVersion: '1.1.0', ...keys })), verb)
}

const defaults: NetConf = {
  cniVersion: '1.1.0',
  name: 'net1',
  type: '',
  bridge: 'cni0',
  isGateway: false,
  isDefaultGateway: false,
  forceAddress: false,
  ipMasq: false,
  ipMasq4: false,
  ipMasq6: false,
  ipMasqExclude: [],
  snatTo: [],
  ipMasqBackend: undefined,
  mtu: 0,
  hairpinMode: false,
  promiscMode: false,
  vlan: 0,
  vlanTrunk: undefined,
  preserveDefaultVlan: false,
  macspoofchk: false,
  enabledad: false,
  disableContainerInterface: false,
  portIsolation: false,
  dns: undefined,
  ipam: undefined,
  runtimeConfig: { ips: [], ipRanges: [] },
  args: { ips: [] },
  prevResult: undefined,
  validAttachments: undefined,
  disableGC: false,
}

const ipamDefaults = { type: 'host-local', ranges: [], routes: [], resolvConf: '', dataDir: '/var/lib/cni/networks' }

const subnet = '10.1.0.0/16'
const range = { subnet, rangeStart: '10.1.0.5', rangeEnd: '10.1.0.9', gateway: '10.1.0.1' }

interface Accepted {
  name: string
  keys: Keys
  want: Partial<NetConf>
}

const accepted: Accepted[] = [
  { name: 'no key: the defaults', keys: {}, want: {} },
  {
    name: 'every plain key',
    keys: {
      type: 'bridge',
      bridge: 'br0',
      isGateway: true,
      forceAddress: true,
      ipMasq: true,
      ipMasqBackend: 'nftables',
      mtu: 1400,
      hairpinMode: true,
      vlan: 100,
      preserveDefaultVlan: false,
      macspoofchk: true,
      enabledad: true,
      disableContainerInterface: true,
      portIsolation: true,
      disableGC: true,
    },
    want: {
      type: 'bridge',
      bridge: 'br0',
      isGateway: true,
      forceAddress: true,
      ipMasq: true,
      ipMasq4: true,
      ipMasq6: true,
      ipMasqBackend: 'nftables',
      mtu: 1400,
      hairpinMode: true,
      vlan: 100,
      preserveDefaultVlan: false,
      macspoofchk: true,
      enabledad: true,
      disableContainerInterface: true,
      portIsolation: true,
      disableGC: true,
    },
  },
  {
    name: 'masquerading of one family, exclusions, and a fixed source',
    keys: { ipMasq6: true, ipMasqExclude: ['10.0.0.0/8'], snatTo: ['192.0.2.7', 'fd00::7'] },
    want: { ipMasq: true, ipMasq6: true, ipMasqExclude: ['10.0.0.0/8'], snatTo: ['192.0.2.7', 'fd00::7'] },
  },
  {
    name: 'a family that is not masqueraded though ipMasq says so',
    keys: { ipMasq: true, ipMasq6: false },
    want: { ipMasq: true, ipMasq4: true, ipMasq6: false },
  },
  {
    name: 'isDefaultGateway means isGateway',
    keys: { isDefaultGateway: true, isGateway: false },
    want: { isDefaultGateway: true, isGateway: true },
  },
  {
    name: 'null means absent',
    keys: {
      bridge: null,
      ipMasq: null,
      mtu: null,
      preserveDefaultVlan: null,
      ipam: null,
      dns: null,
      runtimeConfig: null,
    },
    want: {},
  },
  {
    name: 'empty strings mean absent',
    keys: { type: '', bridge: '', ipMasqBackend: '', runtimeConfig: { mac: '' }, args: { cni: { mac: '' } } },
    want: {},
  },
  { name: 'zeros mean the default', keys: { mtu: 0, vlan: 0 }, want: {} },
  {
    name: 'unknown keys are ignored',
    keys: { nope: 1, capabilities: { ips: true }, __proto__: { mtu: 1400 } },
    want: {},
  },
  { name: 'prevResult as it came', keys: { prevResult: { IPs: [null] } }, want: { prevResult: { IPs: [null] } } },
  { name: 'the smallest numbers', keys: { mtu: 68, vlan: 1 }, want: { mtu: 68, vlan: 1 } },
  { name: 'the greatest numbers', keys: { mtu: 65535, vlan: 4094 }, want: { mtu: 65535, vlan: 4094 } },

  { name: 'no VLAN in the trunk', keys: { vlanTrunk: [] }, want: { vlanTrunk: [] } },
  { name: 'an empty item in the trunk', keys: { vlanTrunk: [{}] }, want: { vlanTrunk: [] } },
  {
    name: 'a VLAN and a trunk',
    keys: { vlan: 5, vlanTrunk: [{ id: 6 }] },
    want: { vlan: 5, vlanTrunk: [{ min: 6, max: 6 }] },
  },
  { name: 'an empty trunk beside a VLAN', keys: { vlan: 5, vlanTrunk: [] }, want: { vlan: 5, vlanTrunk: [] } },
  {
    name: 'a range and a single VLAN in one item of the trunk',
    keys: { vlanTrunk: [{ minID: 100, maxID: 101, id: 5 }] },
    want: {
      vlanTrunk: [
        { min: 5, max: 5 },
        { min: 100, max: 101 },
      ],
    },
  },
  {
    name: 'items of the trunk that overlap or touch become one range',
    keys: { vlanTrunk: [{ id: 13 }, { minID: 5, maxID: 10 }, { minID: 8, maxID: 12 }, { id: 6 }, { id: 15 }] },
    want: {
      vlanTrunk: [
        { min: 5, max: 13 },
        { min: 15, max: 15 },
      ],
    },
  },

  { name: 'an empty ipam: layer 2', keys: { ipam: {} }, want: { ipam: undefined } },
  { name: 'ipam with an empty type: layer 2', keys: { ipam: { type: '', routes: null } }, want: { ipam: undefined } },
  { name: 'an empty dns', keys: { dns: { nameservers: [], domain: '' } }, want: { dns: undefined } },
  {
    name: 'dns with some keys',
    keys: { dns: { nameservers: ['10.0.0.1'], search: ['a.b'] } },
    want: { dns: { nameservers: ['10.0.0.1'], domain: '', search: ['a.b'], options: [] } },
  },
  { name: 'host-local without ranges', keys: { ipam: { type: 'host-local' } }, want: { ipam: ipamDefaults } },
  {
    name: 'host-local in full',
    keys: {
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: 'fd00::/64' }, { subnet: 'fd01::/64' }]],
        routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0', gw: 'fd00::1', mtu: 1400, table: 0, scope: 253 }],
        resolvConf: '/etc/resolv.conf',
        dataDir: '/run/store',
      },
    },
    want: {
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: 'fd00::/64' }, { subnet: 'fd01::/64' }]],
        routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0', gw: 'fd00::1', mtu: 1400, table: 0, scope: 253 }],
        resolvConf: '/etc/resolv.conf',
        dataDir: '/run/store',
      },
    },
  },
  {
    name: 'the single range at the level of ipam comes first',
    keys: { ipam: { type: 'host-local', ...range, ranges: [[{ subnet: 'fd00::/64' }]] } },
    want: { ipam: { ...ipamDefaults, ranges: [[range], [{ subnet: 'fd00::/64' }]] } },
  },
  {
    name: 'rangeStart without a subnet at the level of ipam: ignored',
    keys: { ipam: { type: 'host-local', rangeStart: '10.1.0.5', ranges: [[{ subnet }]] } },
    want: { ipam: { ...ipamDefaults, ranges: [[{ subnet }]] } },
  },
  {
    name: 'ranges without a type: host-local',
    keys: { ipam: { subnet } },
    want: { ipam: { ...ipamDefaults, ranges: [[{ subnet }]] } },
  },
  {
    name: 'numbers of a route that are 0 are not set, but for table and scope',
    keys: {
      ipam: {
        type: 'host-local',
        routes: [{ dst: '::/0', gw: '', mtu: 0, advmss: 0, priority: 0, table: 0, scope: 0 }],
      },
    },
    want: { ipam: { ...ipamDefaults, routes: [{ dst: '::/0', table: 0, scope: 0 }] } },
  },
  {
    name: 'what a client writes that fills in and re-serialises',
    keys: {
      ipam: {
        Name: 'net1',
        type: 'host-local',
        routes: null,
        resolvConf: '',
        dataDir: '',
        ranges: [[{ ...range, gateway: '' }]],
      },
    },
    want: { ipam: { ...ipamDefaults, ranges: [[{ subnet, rangeStart: '10.1.0.5', rangeEnd: '10.1.0.9' }]] } },
  },
  {
    name: 'keys of another IPAM plugin are not checked',
    keys: { ipam: { type: 'whereabouts', range: 5, ranges: 'x', routes: [7], dataDir: '../..', subnet: false } },
    want: { ipam: { ...ipamDefaults, type: 'whereabouts' } },
  },
  {
    name: 'wishes of the runtime and of args.cni',
    keys: {
      runtimeConfig: { mac: '02:00:00:00:00:01', ips: ['10.1.0.7/16'], ipRanges: [[{ subnet }]], portMappings: [{}] },
      args: { cni: { mac: '02:00:00:00:00:02', ips: ['10.1.0.8'] }, other: 1 },
    },
    want: {
      runtimeConfig: { mac: '02:00:00:00:00:01', ips: ['10.1.0.7/16'], ipRanges: [[{ subnet }]] },
      args: { mac: '02:00:00:00:00:02', ips: ['10.1.0.8'] },
    },
  },

  {
    name: 'keys in odd spelling, at every level',
    keys: {
      MTU: 1400,
      ISgateway: true,
      RuntimeConfig: { IPs: ['10.1.0.7'], IPRANGES: [[{ SubNet: subnet }]] },
      Args: { CNI: { Mac: '02:00:00:00:00:02' } },
      DNS: { NameServers: ['10.0.0.1'] },
      IPAM: {
        Type: 'host-local',
        Subnet: subnet,
        RANGES: [[{ SUBNET: 'fd00::/64' }]],
        Routes: [{ Dst: '::/0', GW: 'fd00::1' }],
      },
      VlanTrunk: [{ MinID: 1, MAXID: 2, ID: 9 }],
      PrevResult: { IPs: [] },
    },
    want: {
      mtu: 1400,
      isGateway: true,
      runtimeConfig: { ips: ['10.1.0.7'], ipRanges: [[{ subnet }]] },
      args: { mac: '02:00:00:00:00:02', ips: [] },
      dns: { nameservers: ['10.0.0.1'], domain: '', search: [], options: [] },
      ipam: {
        ...ipamDefaults,
        ranges: [[{ subnet }], [{ subnet: 'fd00::/64' }]],
        routes: [{ dst: '::/0', gw: 'fd00::1' }],
      },
      vlanTrunk: [
        { min: 1, max: 2 },
        { min: 9, max: 9 },
      ],
      prevResult: { IPs: [] },
    },
  },
  { name: 'the exact spelling wins', keys: { mtu: 1400, MTU: 1300, Mtu: 1200 }, want: { mtu: 1400 } },
  { name: 'without an exact spelling the last one wins', keys: { MTU: 1300, Mtu: 1200 }, want: { mtu: 1200 } },
  { name: 'null in the exact spelling does not hide another', keys: { mtu: null, MTU: 1300 }, want: { mtu: 1300 } },
]

test.each(accepted)('accepted: $name', ({ keys, want }) => {
  expect(parse(keys)).toEqual({ ...defaults, ...want })
})

interface Refused {
  name: string
  keys: Keys
  says: string
}

const refused: Refused[] = [
  { name: 'text for a truth value', keys: { ipMasq: 'true' }, says: 'ipMasq: expected true or false, found "true"' },
  { name: 'a number for a bridge', keys: { bridge: 5 }, says: 'bridge: expected a string, found 5' },
  {
    name: 'a bridge with a long name',
    keys: { bridge: 'sixteencharacter' },
    says: 'bridge: expected the name of a network interface (this one is longer than 15 characters), found "sixteencharacter"',
  },
  {
    name: 'a bridge that would end a line',
    keys: { bridge: 'a\nb' },
    says: '(this one contains /, : or white space), found "a\\nb"',
  },
  { name: 'a bridge with a lone surrogate', keys: { bridge: '\ud800' }, says: 'bridge: expected the name' },
  { name: 'a type with a path', keys: { type: '../sh' }, says: 'type: expected the name of a plugin, without a path' },
  {
    name: 'an IPAM type with a path',
    keys: { ipam: { type: '/bin/sh' } },
    says: 'ipam.type: expected the name of a plugin',
  },
  {
    name: 'an IPAM type of another JSON type',
    keys: { ipam: { type: 5 } },
    says: 'ipam.type: expected a string, found 5',
  },
  {
    name: 'an unknown masquerade backend',
    keys: { ipMasqBackend: 'pf' },
    says: 'ipMasqBackend: expected "iptables" or "nftables", found "pf"',
  },
  { name: 'a small MTU', keys: { mtu: 67 }, says: 'mtu: expected a whole number from 68 to 65535, or 0, found 67' },
  { name: 'a great MTU', keys: { mtu: 65536 }, says: 'mtu: expected' },
  { name: 'a negative MTU', keys: { mtu: -1 }, says: 'mtu: expected' },
  { name: 'a broken MTU', keys: { mtu: 1400.5 }, says: 'mtu: expected' },
  {
    name: 'text for an MTU',
    keys: { mtu: '1400' },
    says: 'mtu: expected a whole number from 68 to 65535, or 0, found "1400"',
  },
  { name: 'a negative VLAN', keys: { vlan: -1 }, says: 'vlan: expected a whole number from 1 to 4094, or 0, found -1' },
  { name: 'VLAN 4095', keys: { vlan: 4095 }, says: 'vlan: expected' },
  {
    name: 'VLAN 0 in the trunk',
    keys: { vlanTrunk: [{ id: 0 }] },
    says: 'vlanTrunk[0].id: expected a whole number from 1 to 4094, found 0',
  },
  {
    name: 'VLAN 4095 in the trunk',
    keys: { vlanTrunk: [{ minID: 1, maxID: 4095 }] },
    says: 'vlanTrunk[0].maxID: expected',
  },
  {
    name: 'minID alone',
    keys: { vlanTrunk: [{ id: 1 }, { minID: 1 }] },
    says: 'vlanTrunk[1]: expected both minID and maxID',
  },
  { name: 'maxID alone', keys: { vlanTrunk: [{ maxID: 1 }] }, says: 'vlanTrunk[0]: expected both minID and maxID' },
  { name: 'minID above maxID', keys: { vlanTrunk: [{ minID: 2, maxID: 1 }] }, says: 'the first not above the second' },
  { name: 'null in the trunk', keys: { vlanTrunk: [null] }, says: 'vlanTrunk[0]: expected an object, found null' },
  {
    name: 'hairpin and promiscuous mode',
    keys: { hairpinMode: true, promiscMode: true },
    says: 'hairpinMode and promiscMode',
  },
  {
    name: 'addresses on an interface that stays down',
    keys: { disableContainerInterface: true, ipam: { type: 'host-local', subnet } },
    says: 'disableContainerInterface and ipam',
  },
  { name: 'a list for ipam', keys: { ipam: [] }, says: 'ipam: expected an object, found []' },
  {
    name: 'a subnet that is no string',
    keys: { ipam: { type: 'host-local', subnet: 5 } },
    says: 'ipam.subnet: expected a string, found 5',
  },
  {
    name: 'a range without a subnet',
    keys: { ipam: { type: 'host-local', ranges: [[{ subnet }, { gateway: '10.1.0.1' }]] } },
    says: 'ipam.ranges[0][1].subnet is missing',
  },
  {
    name: 'ranges that are not lists of lists',
    keys: { ipam: { type: 'host-local', ranges: [{ subnet }] } },
    says: 'ipam.ranges[0]: expected a list of ranges, found {"subnet":"10.1.0.0/16"}',
  },
  {
    name: 'a subnet in a range set that is no string',
    keys: { ipam: { type: 'host-local', ranges: [[{ subnet }, { subnet: true }]] } },
    says: 'ipam.ranges[0][1].subnet: expected a string, found true',
  },
  {
    name: 'a route without dst',
    keys: { ipam: { type: 'host-local', routes: [{}] } },
    says: 'ipam.routes[0].dst is missing',
  },
  {
    name: 'a scope above 255',
    keys: { ipam: { type: 'host-local', routes: [{ dst: '::/0', scope: 256 }] } },
    says: 'ipam.routes[0].scope: expected a whole number from 0 to 255, found 256',
  },
  {
    name: 'a table of more than 32 bit',
    keys: { ipam: { type: 'host-local', routes: [{ dst: '::/0', table: 2 ** 32 }] } },
    says: 'ipam.routes[0].table: expected a whole number from 0 to 4294967295, found 4294967296',
  },
  ...['store', '/a/../etc', '/a\u0000', '/a\nb'].map((dataDir) => ({
    name: `data folder ${JSON.stringify(dataDir)}`,
    keys: { ipam: { type: 'host-local', dataDir } },
    says: `ipam.dataDir: expected an absolute path without .., found ${JSON.stringify(dataDir)}`,
  })),
  {
    name: 'a name server that is no string',
    keys: { dns: { nameservers: ['a', 1] } },
    says: 'dns.nameservers[1]: expected a string, found 1',
  },
  {
    name: 'a wished address that is no string',
    keys: { runtimeConfig: { ips: [5] } },
    says: 'runtimeConfig.ips[0]: expected a string',
  },
  {
    name: 'a wished range without subnet',
    keys: { runtimeConfig: { ipRanges: [[{}]] } },
    says: 'runtimeConfig.ipRanges[0][0].subnet is missing',
  },
  {
    name: 'wishes in args.cni of another type',
    keys: { args: { cni: [] } },
    says: 'args.cni: expected an object, found []',
  },
  { name: 'odd spelling: the key is named as documented', keys: { MTU: 1 }, says: 'mtu: expected' },
]

test.each(refused)('refused: $name', ({ keys, says }) => {
  expect(() => parse(keys)).toThrow(expect.objectContaining({ code: 7, message: expect.stringContaining(says) }))
})

test('every wrong key is told, the first in the message', () => {
  expect(() => parse({ mtu: 1, vlan: 'x' })).toThrow(
    expect.objectContaining({
      message: 'network "net1": mtu: expected a whole number from 68 to 65535, or 0, found 1',
      details: 'also: vlan: expected a whole number from 1 to 4094, or 0, found "x"',
    }),
  )
})

test('a long value is cut in the message', () => {
  expect(() => parse({ mtu: 'x'.repeat(5000) })).toThrow(/found "x{76}\.\.\.$/)
})

test('absurd nesting below a known key is a fault like any other', () => {
  const text = `{"name":"net1","prevResult":${'['.repeat(1e5)}${']'.repeat(1e5)},"mtu":${'['.repeat(1e5)}${']'.repeat(1e5)}}`
  expect(() => parseNetConf(parseHead(text), 'ADD')).toThrow(expect.objectContaining({ code: 7 }))
})

interface Lenient {
  name: string
  keys: Keys
  want: Partial<NetConf>
}

const lenient: Lenient[] = [
  { name: 'plain keys', keys: { mtu: 1, ipMasq: 'yes', vlan: 9999, type: '/x', portIsolation: 1 }, want: {} },
  { name: 'an ipam that is no object', keys: { ipam: 'x' }, want: {} },
  {
    name: 'half a range in the trunk',
    keys: { vlanTrunk: [{ minID: 5 }, { id: 7 }] },
    want: { vlanTrunk: [{ min: 7, max: 7 }] },
  },
  {
    name: 'keys that exclude each other',
    keys: { hairpinMode: true, promiscMode: true },
    want: { hairpinMode: true, promiscMode: true },
  },
  {
    name: 'wrong items of lists, and no others',
    keys: {
      ipam: {
        type: 'host-local',
        ranges: [7, [{ gateway: 5 }, { subnet, gateway: 5 }, null, { rangeStart: 1, subnet: 2 }]],
        routes: [{}, { dst: '::/0', gw: 5, mtu: -1 }, 'x'],
      },
    },
    want: { ipam: { ...ipamDefaults, ranges: [[{ subnet }]], routes: [{ dst: '::/0' }] } },
  },
]

test.each(lenient)('DEL and GC pass over $name', ({ keys, want }) => {
  for (const verb of ['DEL', 'GC'] as const) expect(parse(keys, verb)).toEqual({ ...defaults, ...want })
})

test.each([
  { name: 'bridge', keys: { bridge: 'a b' }, says: 'bridge: expected' },
  { name: 'data folder', keys: { ipam: { type: 'host-local', dataDir: 'store' } }, says: 'ipam.dataDir: expected' },
])('DEL and GC refuse a wrong $name: they would clean up elsewhere', ({ keys, says }) => {
  for (const verb of ['DEL', 'GC'] as const) {
    expect(() => parse(keys, verb)).toThrow(
      expect.objectContaining({ code: 7, message: expect.stringContaining(says) }),
    )
  }
})

const [one, two] = [
  { containerID: 'c1', ifname: 'eth0' },
  { containerID: 'c2', ifname: 'eth1' },
]

test.each([
  { name: 'no list', keys: {}, want: undefined },
  { name: 'null', keys: { 'cni.dev/valid-attachments': null }, want: null },
  { name: 'null in the older key', keys: { 'CNI.dev/attachments': null }, want: null },
  { name: 'an empty list', keys: { 'cni.dev/valid-attachments': [] }, want: [] },
  { name: 'the older key', keys: { 'cni.dev/attachments': [one] }, want: [one] },
  {
    name: 'both keys: the newer one',
    keys: { 'cni.dev/attachments': [one], 'cni.dev/valid-attachments': [two] },
    want: [two],
  },
  {
    name: 'null and the older key: the list',
    keys: { 'cni.dev/attachments': [one], 'cni.dev/valid-attachments': null },
    want: [one],
  },
  { name: 'odd spelling', keys: { 'cni.dev/valid-attachments': [{ ContainerId: 'c1', ifName: 'eth0' }] }, want: [one] },
])('valid attachments: $name', ({ keys, want }) => {
  expect(parse(keys, 'GC').validAttachments).toEqual(want)
})

test.each([
  {
    name: 'an item without ifname',
    list: [one, { containerID: 'c2' }],
    says: 'cni.dev/valid-attachments[1].ifname is missing',
  },
  {
    name: 'an empty container ID',
    list: [{ ...one, containerID: '' }],
    says: 'cni.dev/valid-attachments[0].containerID is missing',
  },
  { name: 'an object for the list', list: {}, says: 'cni.dev/valid-attachments: expected a list' },
])('GC refuses a list of valid attachments that it does not understand: $name', ({ list, says }) => {
  expect(() => parse({ 'cni.dev/valid-attachments': list }, 'GC')).toThrow(
    expect.objectContaining({ code: 7, message: expect.stringContaining(says) }),
  )
})

test('the case of letters in keys never matters', () => {
  const keys = {
    bridge: 'br0',
    ipMasq: true,
    mtu: 1400,
    ipam: { type: 'host-local', ranges: [[range]], routes: [{ dst: '::/0', gw: 'fd00::1', mtu: 1300 }] },
    dns: { nameservers: ['10.0.0.1'], options: ['ndots:5'] },
    runtimeConfig: { ips: ['10.1.0.7'] },
    'cni.dev/valid-attachments': [one],
  }
  const want = parse(keys)
  fc.assert(
    fc.property(fc.infiniteStream(fc.boolean()), (upper) => {
      expect(parse(respell(keys, upper) as Keys)).toEqual(want)
    }),
  )
})

function respell(value: unknown, upper: Iterator<boolean>): unknown {
  if (Array.isArray(value)) return value.map((item) => respell(item, upper))
  if (typeof value !== 'object' || value === null) return value
  const spell = (key: string) => [...key].map((c) => (upper.next().value ? c.toUpperCase() : c.toLowerCase())).join('')
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [spell(key), respell(item, upper)]))
}

test('a wrong value is a Fault for every key and every JSON value', () => {
  const key = fc.constantFrom(...Object.keys(defaults).filter((name) => name !== 'name' && name !== 'cniVersion'))
  fc.assert(
    fc.property(key, fc.jsonValue(), (name, value) => {
      try {
        parse({ [name]: value })
      } catch (error) {
        expect(error).toBeInstanceOf(Fault)
      }
    }),
  )
})
