import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { leftovers } from './observe.ts'
import { ping } from './ping.ts'
import { add, addressesOf, BRIDGE, check, conf, del } from './plugin.ts'
import { REFERENCE } from './reference.ts'
import { until } from './until.ts'

const config: Json = { ...conf({ isGateway: false }), ipam: { type: 'dhcp' } }
const call = { path: `/opt/cni/bin:${REFERENCE}` }

/** A bridge with a DHCP server behind it, and the daemon of the dhcp plugin. */
async function serve(lab: Lab): Promise<void> {
  lab.must(
    'sh',
    '-ec',
    `ip link add ${BRIDGE} type bridge; ip addr add 10.7.0.1/24 dev ${BRIDGE}; ip link set ${BRIDGE} up`,
  )
  lab.must('mkdir', '-p', '/run/cni')
  const range = '--dhcp-range=10.7.0.100,10.7.0.101,255.255.255.0,2m'
  const files = ['--conf-file=/dev/null', '--dhcp-leasefile=/run/leases', '--pid-file=', '--user=root']
  const words = [
    '--no-daemon',
    '--port=0',
    '--bind-interfaces',
    `--interface=${BRIDGE}`,
    '--dhcp-authoritative',
    '--no-ping',
  ]
  const server = lab.background('dnsmasq', ...words, range, ...files)
  const daemon = lab.background(`${REFERENCE}/dhcp`, 'daemon')
  // Port 67 of UDP.
  await until(() => /:0043 /.test(lab.must('cat', '/proc/net/udp')), server.output)
  await until(() => lab.run(['test', '-S', '/run/cni/dhcp.sock']).status === 0, daemon.output)
}

forEachExecutable((executable) => {
  test('dhcp gives a pod its address through the interface, and nothing is left of it', async () => {
    const lab = await openLab(executable)
    await serve(lab)
    const one = add(lab, 'a', config, call)
    expect(addressesOf(one.result)[0]).toMatch(/^10\.7\.0\.10[01]$/)
    expect(one.result.routes).toContainEqual({ dst: '0.0.0.0/0', gw: '10.7.0.1' })
    expect(ping(lab, 'a', '10.7.0.1')).toBe(true)
    expect(lab.must('cat', '/run/leases')).toContain(addressesOf(one.result)[0])
    expect(check(lab, one, call)).toMatchObject({ status: 0, stdout: '' })
    del(lab, one, call)
    del(lab, one, call)
    expect(leftovers(lab, ...addressesOf(one.result))).toEqual([])
  })
})
