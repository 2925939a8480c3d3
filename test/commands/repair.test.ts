import { expect, test } from 'vitest'
import { parseValid } from '../../src/commands/gc.ts'
import { linesOf, sysctlCommand } from '../../src/commands/ops.ts'
import { planText } from '../../src/commands/plan/report.ts'
import { planRepair } from '../../src/commands/repair/plan.ts'
import { repairText } from '../../src/commands/repair.ts'
import { plain } from '../../src/commands/text.ts'
import type { Observed, Resource, SeenLink } from '../../src/core/resource.ts'
import { attachment, cidr, ip, links, seen } from '../core/seen.ts'

const bridge: Resource = { kind: 'bridge', name: 'cni0', mac: '02:00:00:00:00:09', mtu: 0, promisc: false }
const port: Resource = { kind: 'port', host: 'veth1', bridge: 'cni0', hairpin: true, isolated: false }
const gateway: Resource = { kind: 'gateway', bridge: 'cni0', cidr: cidr('10.9.0.1/24'), force: false }
const forward: Resource = { kind: 'sysctl', key: 'net/ipv4/ip_forward', value: '1' }
const masquerade: Resource = {
  kind: 'masquerade',
  address: ip('10.9.0.2'),
  subnet: cidr('10.9.0.0/24'),
  attachment,
  inet: true,
}
const inside: Resource = { kind: 'address', ifname: 'eth0', cidr: cidr('10.9.0.2/24'), dad: false }
const all = [bridge, forward, gateway, port, inside, masquerade]

const ELEMENT = 'inet cni_plugins_masquerade pods-net1-10.9.0.0/24'
const masqueraded = { elements: new Map([[`${ELEMENT} 10.9.0.2`, '']]), served: new Set([ELEMENT]) }
const cni0 = { addresses: [{ family: 4, cidr: '10.9.0.1/24', tentative: false, failed: false }] } as const
const veth1: Partial<SeenLink> = {
  type: 'veth',
  master: 'cni0',
  port: { state: 'forwarding', hairpin: true, isolated: false },
}
const well = { host: links({ cni0, veth1 }), sysctls: new Map([['net/ipv4/ip_forward', '1']]), masquerade: masqueraded }

const cases: readonly { name: string; host: Partial<Observed>; want: readonly string[] }[] = [
  { name: 'all is there, but for what is the container’s: nothing', host: well, want: [] },
  {
    name: 'no bridge: it is made, with gateway and ports',
    host: { ...well, host: links({ veth1: { ...veth1, master: undefined, port: undefined } }) },
    want: [
      'ip link add name cni0 address 02:00:00:00:00:09 type bridge',
      'sysctl -w net.ipv6.conf.cni0.accept_ra=0',
      'ip link set dev cni0 up',
      'ip addr add 10.9.0.1/24 dev cni0 brd +',
      'ip link set dev veth1 master cni0 up',
      'ip link set dev veth1 type bridge_slave hairpin on',
    ],
  },
  {
    name: 'a port with other settings: all of them are said again',
    host: { ...well, host: links({ cni0, veth1: { ...veth1, port: { state: '', hairpin: true, isolated: true } } }) },
    want: [
      'ip link set dev veth1 master cni0 up',
      'ip link set dev veth1 type bridge_slave hairpin on',
      'ip link set dev veth1 type bridge_slave isolated off',
    ],
  },
  {
    name: 'forwarding off',
    host: { ...well, sysctls: new Map([['net/ipv4/ip_forward', '0']]) },
    want: ['sysctl -w net.ipv4.ip_forward=1'],
  },
]

test.each(cases)('$name', ({ host, want }) => {
  expect(planRepair(all, seen(host)).steps.flatMap(({ run }) => linesOf(run))).toEqual(want)
})

test('what two attachments share is repaired once', () => {
  const { steps } = planRepair([...all, ...all], seen({ ...well, sysctls: new Map([['net/ipv4/ip_forward', '0']]) }))
  expect(steps).toHaveLength(1)
})

test('an element whose rule is gone is told from one that is gone itself', () => {
  const partial = { elements: masqueraded.elements, served: new Set<string>() }
  expect(planRepair(all, seen({ ...well, masquerade: partial })).steps).toMatchObject([{ isPartial: true }])
  const nothing = { elements: new Map(), served: new Set<string>() }
  expect(planRepair(all, seen({ ...well, masquerade: nothing })).steps).toMatchObject([{ isPartial: false }])
})

test('another address in the gateway’s place, and a device that is no bridge, are left to people', () => {
  const other = { addresses: [{ family: 4, cidr: '10.9.0.7/24', tentative: false, failed: false }] } as const
  expect(planRepair(all, seen({ ...well, host: links({ cni0: other, veth1 }) }))).toMatchObject({
    steps: [],
    obstacles: [{ resource: { kind: 'gateway' }, reason: 'want 10.9.0.1/24, have 10.9.0.7/24' }],
  })
  const { obstacles } = planRepair([bridge], seen({ host: links({ cni0: { type: 'vlan' } }) }))
  expect(obstacles).toMatchObject([{ reason: 'want a bridge, have a vlan' }])
})

test('the lines are as one types them', () => {
  expect(sysctlCommand('net/ipv6/conf/cni0.7/accept_ra', '0')).toBe('sysctl -w net/ipv6/conf/cni0.7/accept_ra=0')
  expect(linesOf([{ tool: 'ip', on: 'sandbox', line: 'link set lo up' }], '/run/netns/a')).toEqual([
    'nsenter --net=/run/netns/a ip link set lo up',
  ])
  expect(linesOf([{ tool: 'iptables', family: 6, lines: ['-N CNI-x'] }])).toEqual(['ip6tables -t nat -N CNI-x'])
})

test('what repair did is told, and what it could not do', () => {
  const outcome = {
    network: 'pods',
    attachments: 1,
    steps: [{ kind: 'bridge', what: 'bridge cni0', reason: 'missing', lines: ['ip link add'] }],
    failures: ['port veth1: no'],
    left: ['a pod'],
  }
  expect(repairText([outcome], false, plain)).toBe(
    'pods  1 living attachment\n  made bridge cni0 (missing)\n    ip link add\n' +
      '  could not make port veth1: no\n  left as it is: a pod',
  )
})

test('of hundreds of steps of a kind the first few are told, and how many more', () => {
  const step = (kind: string, i: number) => ({ kind, what: `${kind} ${i}`, reason: 'missing', lines: [`line ${i}`] })
  const steps = [step('bridge', 0), ...Array.from({ length: 300 }, (_, i) => step('port', i))]
  const outcome = { network: 'pods', attachments: 300, steps, failures: [], left: [] }
  expect(repairText([outcome], true, plain).split('\n')).toEqual([
    'pods  300 living attachments',
    '  would make bridge 0 (missing)',
    '    line 0',
    ...[0, 1, 2].flatMap((i) => [`  would make port ${i} (missing)`, `    line ${i}`]),
    '  would make 297 more like it',
  ])
})

test('a plan that is refused says why', () => {
  const text = planText({ ok: false, verb: 'ADD', code: 101, msg: 'in the way', details: 'remove it' }, plain)
  expect(text).toBe('ADD would be refused with code 101: in the way\n  remove it')
})

test.each([['{}'], ['[1]'], ['[{"containerID":"a"}]'], ['nonsense'], ['']])(
  'a list of valid attachments that is not understood is none: %s',
  (text) => {
    expect(() => parseValid(text)).toThrow('not understood')
  },
)

test('a list of valid attachments', () => {
  expect(parseValid('[{"containerID":"a","ifname":"eth0","more":1}]')).toEqual([{ containerID: 'a', ifname: 'eth0' }])
  expect(parseValid('[]')).toEqual([])
})
