import { expect, test } from 'vitest'
import { nameOf } from '../../src/core/kinds.ts'
import { planAdd } from '../../src/core/plan.ts'
import type { Observed, Op, Resource, SeenLink } from '../../src/core/resource.ts'
import { isSettled, verify } from '../../src/core/verify.ts'
import { address, attachment, cidr, links, seen } from './seen.ts'

const desired: Resource[] = [
  { kind: 'reservation', address: '10.9.0.2', attachment },
  {
    kind: 'veth',
    host: 'veth1',
    ifname: 'eth0',
    hostMac: '02:00:00:00:00:02',
    mac: '02:00:00:00:00:03',
    mtu: 0,
    label: 'pontoon:net1/c1/eth0',
    netns: '/proc/7/fd/5',
  },
  { kind: 'bridge', name: 'cni0', mac: '02:00:00:00:00:01', mtu: 0, promisc: false },
  { kind: 'sysctl', key: 'net/ipv4/ip_forward', value: '1' },
  { kind: 'gateway', bridge: 'cni0', cidr: cidr('10.9.0.1/24'), force: false },
  { kind: 'port', host: 'veth1', bridge: 'cni0', hairpin: false, isolated: false },
]

const whole: Record<string, Partial<SeenLink>> = {
  cni0: { addresses: [address('10.9.0.1/24')] },
  veth1: { type: 'veth', master: 'cni0', port: { state: 'forwarding', hairpin: false, isolated: false } },
}

interface Case {
  name: string
  host?: Record<string, Partial<SeenLink>>
  sysctls?: Record<string, string>
  leased?: Record<string, string>
  want: { makes: string[]; repairs: string[]; undoes: string[] } | { conflicts: string[] }
}

const cases: Case[] = [
  {
    name: 'bare host: all is made, only our own is undone',
    want: {
      makes: [
        'reservation 10.9.0.2',
        'veth veth1',
        'bridge cni0',
        'sysctl net.ipv4.ip_forward',
        'gateway 10.9.0.1/24 on cni0',
        'port veth1',
      ],
      repairs: [],
      undoes: ['release 10.9.0.2', 'link del dev veth1'],
    },
  },
  {
    name: 'bridge, gateway, forwarding and own reservation are there: kept, and a failure leaves them',
    host: { cni0: whole.cni0 ?? {} },
    sysctls: { 'net/ipv4/ip_forward': '1' },
    leased: { '10.9.0.2': 'c1 eth0' },
    want: { makes: ['veth veth1', 'port veth1'], repairs: [], undoes: ['link del dev veth1'] },
  },
  {
    name: 'a bridge that is down is raised, forwarding that is off is switched on: neither is undone',
    host: { cni0: { up: false, addresses: [address('10.9.0.1/24')] } },
    sysctls: { 'net/ipv4/ip_forward': '0' },
    leased: { '10.9.0.2': 'c1 eth0' },
    want: {
      makes: ['veth veth1', 'port veth1'],
      repairs: ['link set dev cni0 up', 'net/ipv4/ip_forward=1'],
      undoes: ['link del dev veth1'],
    },
  },
  {
    name: 'ADD called twice: refused',
    host: whole,
    sysctls: { 'net/ipv4/ip_forward': '1' },
    leased: { '10.9.0.2': 'c1 eth0' },
    want: { conflicts: ['veth veth1: already exists', 'port veth1: already exists'] },
  },
  {
    name: 'names and addresses held by others: every conflict is told, not just the first',
    host: {
      cni0: { type: 'dummy', addresses: [address('10.9.0.254/24')] },
      veth1: { type: 'veth', master: 'br7' },
    },
    leased: { '10.9.0.2': 'c9 eth0' },
    want: {
      conflicts: [
        'reservation 10.9.0.2: want c1 eth0, have c9 eth0',
        'veth veth1: already exists',
        'bridge cni0: want a bridge, have a dummy',
        'gateway 10.9.0.1/24 on cni0: want 10.9.0.1/24, have 10.9.0.254/24',
        'port veth1: want cni0, have br7',
      ],
    },
  },
]

const text = (op: Op): string => {
  if (op.tool === 'ip' || op.tool === 'bridge') return op.line
  if (op.tool === 'nft' || op.tool === 'iptables') return op.lines.join('; ')
  return op.tool === 'sysctl' ? `${op.key}=${op.value}` : `${op.action} ${op.address}`
}

const observed = ({ host = {}, sysctls = {}, leased = {} }: Partial<Case>): Observed =>
  seen({ host: links(host), sysctls: new Map(Object.entries(sysctls)), reservations: new Map(Object.entries(leased)) })

test.each(cases)('$name', ({ want, ...has }) => {
  const plan = planAdd(desired, observed(has))
  expect(
    plan.ok
      ? {
          makes: plan.steps.filter((step) => step.isNew).map((step) => nameOf(step.resource)),
          repairs: plan.steps.filter((step) => !step.isNew).flatMap((step) => step.run.map(text)),
          undoes: plan.steps.flatMap((step) => step.undo.map(text)),
        }
      : { conflicts: plan.conflicts.map((conflict) => `${nameOf(conflict.resource)}: ${conflict.reason}`) },
  ).toEqual(want)
})

test('a host that has it all is settled', () => {
  const has = observed({ host: whole, sysctls: { 'net/ipv4/ip_forward': '1' }, leased: { '10.9.0.2': 'c1 eth0' } })
  expect([verify(desired, has), isSettled(desired, has)]).toEqual([[], true])
})

test('every difference is told, missing ones as well', () => {
  const has = observed({ host: { cni0: { up: false } }, sysctls: { 'net/ipv4/ip_forward': '0' } })
  expect(verify(desired, has)).toEqual([
    'reservation 10.9.0.2: missing',
    'veth veth1: missing',
    'bridge cni0: want up, have down',
    'sysctl net.ipv4.ip_forward: want 1, have 0',
    'gateway 10.9.0.1/24 on cni0: missing',
    'port veth1: missing',
  ])
  expect(isSettled(desired, has)).toBe(false)
})
