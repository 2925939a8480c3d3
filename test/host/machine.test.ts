import { expect, test, vi } from 'vitest'
import { bridgeMacOf } from '../../src/core/attachment.ts'
import {
  bootTime,
  bridgeMac,
  hasInetNat,
  hasLink,
  keepRouterAdvertisements,
  readPort,
  readSysctl,
  writeSysctl,
} from '../../src/host/machine.ts'
import { failures, files, followScripts, written } from './scripted.ts'

vi.mock('#engine', async () => (await import('./scripted.ts')).engine)
followScripts()

test.each([
  ['4.19.0-25-amd64', false],
  ['5.1.21', false],
  ['5.2.0', true],
  ['5.10.0-rc1', true],
  ['6.1.0-37-amd64', true],
  ['10.0', true],
  ['', false],
  ['unknown', false],
])('Linux %s masquerades in inet: %s', (release, want) => {
  expect(hasInetNat(release)).toBe(want)
})

test('the running kernel is asked for its release', () => {
  files.set('/proc/sys/kernel/osrelease', '5.1.21\n')
  expect(hasInetNat()).toBe(false)
  files.set('/proc/sys/kernel/osrelease', '6.1.0\n')
  expect(hasInetNat()).toBe(true)
})

test('sysctls are files below /proc/sys', () => {
  files.set('/proc/sys/net/ipv4/ip_forward', '1\n')
  writeSysctl('net/ipv4/ip_forward', '0')
  expect([readSysctl('net/ipv4/ip_forward'), readSysctl('net/none'), written]).toEqual([
    '1',
    undefined,
    ['/proc/sys/net/ipv4/ip_forward=0'],
  ])
})

test('the machine was booted when the kernel says', () => {
  expect(bootTime()).toBe(0)
  files.set('/proc/stat', 'cpu  1 2 3\nbtime 1700000000\nprocesses 7\n')
  expect(bootTime()).toBe(1_700_000_000_000)
})

test('a host that is about to forward goes on taking router advertisements where it took them', () => {
  const conf = '/proc/sys/net/ipv6/conf'
  const settings = { all: 1, default: 1, lo: 1, eth0: 1, eth1: 0, eth2: 2, veth12: 1, wlan0: 1, broken: 1 }
  for (const [name, value] of Object.entries(settings)) files.set(`${conf}/${name}/accept_ra`, `${value}\n`)
  failures.set(`${conf}/broken/accept_ra`, 'EROFS')
  keepRouterAdvertisements()
  expect(written).toEqual([`${conf}/eth0/accept_ra=2`, `${conf}/wlan0/accept_ra=2`])
})

test('a host without IPv6 has none to take', () => {
  keepRouterAdvertisements()
  expect(written).toEqual([])
})

test('a link is there when it has settings', () => {
  files.set('/proc/sys/net/ipv4/conf/cni0', '')
  expect([hasLink('cni0'), hasLink('cni1')]).toEqual([true, false])
})

test.each<[name: string, has: [string, string][], id: string]>([
  ['the machine ID', [['/etc/machine-id', 'abc\n']], 'abc'],
  [
    'the boot ID, where the machine ID is not set yet',
    [
      ['/etc/machine-id', '\n'],
      ['/proc/sys/kernel/random/boot_id', 'def\n'],
    ],
    'def',
  ],
  ['the boot ID, where there is no machine ID', [['/proc/sys/kernel/random/boot_id', 'def\n']], 'def'],
])('the hardware address of a bridge stands for %s and the name', (_, has, id) => {
  for (const [path, content] of has) files.set(path, content)
  expect(bridgeMac('cni0')).toBe(bridgeMacOf(id, 'cni0'))
})

test.each([
  [{}, undefined],
  [{ operstate: 'up' }, 'forwards'],
  [{ operstate: 'unknown' }, 'forwards'],
  [{ operstate: 'lowerlayerdown' }, 'waits'],
  [{ operstate: 'up', 'brport/state': '3' }, 'forwards'],
  [{ operstate: 'up', 'brport/state': '2' }, 'waits'],
  [{ operstate: 'down', 'brport/state': '3' }, 'waits'],
])('a port with %o in /sys: %s', (states, want) => {
  for (const [name, state] of Object.entries(states)) files.set(`/sys/class/net/veth1/${name}`, `${state}\n`)
  expect(readPort('veth1')).toBe(want)
})
