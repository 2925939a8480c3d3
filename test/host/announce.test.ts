import { expect, test, vi } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { announce, type Pod } from '../../src/host/announce.ts'
import { openSession } from '../../src/host/session.ts'
import { ip } from '../core/seen.ts'
import {
  type Expected,
  engine,
  events,
  files,
  followScripts,
  IP,
  inside,
  type Line,
  printed,
  script,
} from './scripted.ts'

vi.mock('#engine', async () => (await import('./scripted.ts')).engine)
followScripts()

const pod: Pod = {
  netns: '/proc/7/fd/5',
  ifname: 'eth0',
  mac: '0a:58:0a:09:00:02',
  addresses: [ip('10.9.0.2')],
  dad: false,
}
const six: Pod = { ...pod, addresses: [ip('fd00:9::2')] }

interface Repeats {
  readonly host?: Line
  readonly sandbox?: Line
}

const show = (state?: string, operstate = 'UP'): Line => ({
  told: 'addr show dev veth1\n',
  prints: [
    printed({
      ifindex: 3,
      ifname: 'veth1',
      flags: ['UP'],
      operstate,
      linkinfo: state ? { info_slave_data: { state } } : {},
    }),
  ],
})
const ARP: Line = { told: 'neigh replace 10.9.0.2 dev eth0 use\n' }
const NA: Line = { told: 'link set dev eth0 address 0a:58:0a:09:00:02\n' }
const notify: Expected = {
  argv: inside('/usr/sbin/tee', '/proc/sys/net/ipv6/conf/eth0/ndisc_notify'),
  dialog: [{ told: '1' }],
}

/** @param repeats what each of the two is asked over and over */
async function run(
  of: Pod,
  host: readonly Line[],
  sandbox: readonly Line[],
  more: Expected[] = [],
  repeats: Repeats = {},
) {
  script(
    { argv: IP, dialog: host, ...(repeats.host ? { repeats: repeats.host } : {}) },
    { argv: inside(...IP), dialog: sandbox, ...(repeats.sandbox ? { repeats: repeats.sandbox } : {}) },
    ...more,
  )
  const hands = { host: openSession(), sandbox: openSession('/proc/7/fd/5'), nft: undefined }
  try {
    await announce(of, hands, 'veth1')
  } finally {
    await Promise.all([hands.host.close(), hands.sandbox.close()])
  }
}

test('a pod without addresses has nothing to tell', async () => {
  await run({ ...pod, addresses: [] }, [], [])
})

test('IPv4: the kernel asks for the own address', async () => {
  await run(pod, [show('forwarding')], [ARP])
})

test('IPv6: the hardware address is set to what it is, once the kernel tells of it', async () => {
  await run(six, [show('forwarding')], [NA], [notify])
  expect(events.indexOf(`ended ${notify.argv.join(' ')}`)).toBeLessThan(events.indexOf(`told ${NA.told}`))
})

test('two families and several addresses in one go', async () => {
  const both = { ...pod, addresses: [ip('10.9.0.2'), ip('10.8.0.2'), ip('fd00:9::2')] }
  const told = `${ARP.told}neigh replace 10.8.0.2 dev eth0 use\n${NA.told}`
  await run(both, [show('forwarding')], [{ told }], [notify])
})

test('a port that does not forward yet is waited for', async () => {
  await run(pod, [show('disabled', 'LOWERLAYERDOWN'), show('learning'), show('forwarding')], [ARP])
  expect(engine.monotonic()).toBeGreaterThanOrEqual(1 + 2)
})

test('a link that is no port need only run', async () => {
  await run(pod, [show(undefined, 'DOWN'), show()], [ARP])
})

test('a port that does not forward for long is not waited for', async () => {
  await run(pod, [], [ARP], [], { host: show('listening') })
  expect(engine.monotonic()).toBeLessThan(300)
})

test('a port that has gone is not waited for', async () => {
  await run(pod, [{ told: 'addr show dev veth1\n', complains: 'Command failed -:1\n' }], [ARP])
})

test('where /sys has the port, ip is not asked', async () => {
  files.set('/sys/class/net/veth1/operstate', 'up\n')
  files.set('/sys/class/net/veth1/brport/state', '3\n')
  await run(pod, [], [ARP])
  expect(engine.monotonic(), 'one look').toBe(1)
})

test('a port that /sys has, and that does not forward for long, is not waited for', async () => {
  files.set('/sys/class/net/veth1/operstate', 'lowerlayerdown\n')
  await run(pod, [], [ARP])
  expect(engine.monotonic()).toBeGreaterThan(200)
  expect(engine.monotonic()).toBeLessThan(300)
})

const showPod = (...addresses: object[]): Line => ({
  told: 'addr show dev eth0\n',
  prints: [printed({ ifindex: 2, ifname: 'eth0', flags: ['UP'], addr_info: addresses })],
})
const checked = { local: 'fd00:9::2', prefixlen: 64 }
const tentative = { ...checked, tentative: true }

test('duplicate address detection is waited for', async () => {
  await run({ ...six, dad: true }, [show('forwarding')], [NA, showPod(tentative), showPod(checked)], [notify])
})

test('IPv4 has none to wait for', async () => {
  await run({ ...pod, dad: true }, [show('forwarding')], [ARP])
})

test('a duplicate is told', async () => {
  const lines = [NA, showPod(checked, { ...tentative, dadfailed: true })]
  await expect(run({ ...six, dad: true }, [show('forwarding')], lines, [notify])).rejects.toThrow(
    expect.objectContaining({ code: CODE.conflict, message: 'address fd00:9::2/64 is in use' }),
  )
})

test('a detection that does not end is told', async () => {
  const endless = { sandbox: showPod(tentative) }
  await expect(run({ ...six, dad: true }, [show('forwarding')], [NA], [notify], endless)).rejects.toThrow(
    expect.objectContaining({
      code: CODE.tryAgain,
      message: 'duplicate address detection on eth0 did not end',
      details: 'it did not end within 10 s; is the bridge up?',
    }),
  )
})
