/** What repair does for pods of the reference plugin, and for networks whose addresses another IPAM plugin keeps. */
import { describe, expect, test } from 'vitest'
import { putConf, tool, toolJson } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { type Json, openLab } from './lab.ts'
import { byReference, openMixedLab } from './mixed.ts'
import { leftovers, marksOf, packetFilter, store } from './observe.ts'
import { ping } from './ping.ts'
import { add, BRIDGE, check, conf, del, dualStack, expectFault } from './plugin.ts'
import { REFERENCE } from './reference.ts'

const config = dualStack({ cniVersion: '1.0.0' })
const backends = [
  { backend: 'iptables', keys: {} },
  { backend: 'iptables, which is asked for,', keys: { ipMasqBackend: 'iptables' } },
  { backend: 'nftables', keys: { ipMasqBackend: 'nftables', macspoofchk: true } },
  { backend: 'no', keys: { ipMasq: false, hairpinMode: true } },
]

forEachExecutable((executable) => {
  describe.each(backends)('a pod of the reference with $backend masquerade', ({ keys, backend }) => {
    const all = { ...config, ...keys }

    test('is found well, is given back what a flush took, and its DEL leaves nothing', async () => {
      const lab = await openMixedLab(executable)
      putConf(lab, all)
      const old = add(lab, 'a', all, byReference)
      const fresh = add(lab, 'b', all)
      expect(tool(lab, 'repair')).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/2 living attachments, nothing to repair/),
      })
      expect(toolJson(lab, 'doctor').findings).toEqual([])
      lab.must('nft', 'flush', 'ruleset')
      if (backend !== 'no') expectFault(check(lab, old), { code: 103, about: /masquerade 10\.9\.0\.2/ })
      expect(tool(lab, 'repair')).toMatchObject({ status: 0, stderr: '' })
      for (const pod of [old, fresh]) expect(check(lab, pod)).toMatchObject({ status: 0 })
      // Not all that there is: the kernel is about to end its own detection of duplicates.
      const state = () => [packetFilter(lab), store(lab)]
      const repaired = state()
      expect(tool(lab, 'repair').stdout).toContain('nothing to repair')
      expect(tool(lab, 'gc', 't', '--apply').stdout).toContain('nothing')
      expect(state()).toEqual(repaired)
      for (const pod of [old, fresh]) del(lab, pod)
      expect(leftovers(lab, ...marksOf(old, fresh))).toEqual([])
    })

    test('comes back to its bridge, with its gateway', async () => {
      const lab = await openMixedLab(executable)
      putConf(lab, all)
      const old = add(lab, 'a', all, byReference)
      lab.must('sh', '-c', `ip link del ${BRIDGE}; echo 0 >/proc/sys/net/ipv4/ip_forward`)
      expect(check(lab, old).status).toBe(1)
      expect(tool(lab, 'repair')).toMatchObject({ status: 0, stderr: '' })
      expect(check(lab, old)).toMatchObject({ status: 0 })
      expect(ping(lab, 'a', '10.9.0.1')).toBe(true)
    })
  })

  test('the way to the rules of the reference is missed, and made anew', async () => {
    const lab = await openMixedLab(executable)
    const all = { ...config, ipMasqBackend: 'nftables' }
    putConf(lab, all)
    const old = add(lab, 'a', all, byReference)
    lab.must('nft', 'flush', 'chain', 'inet', 'cni_plugins_masquerade', 'postrouting')
    expectFault(check(lab, old), { code: 103, about: /masquerade 10\.9\.0\.2/ })
    expect(tool(lab, 'repair')).toMatchObject({ status: 0, stderr: '' })
    expect(check(lab, old)).toMatchObject({ status: 0 })
    expect(lab.must('nft', 'list', 'table', 'inet', 'cni_plugins_masquerade')).toContain('goto masq_checks')
    expect(tool(lab, 'repair').stdout).toContain('nothing to repair')
    del(lab, old)
    expect(leftovers(lab, ...marksOf(old))).toEqual([])
  })

  test('a pod whose host end somebody has on another bridge is told of and left', async () => {
    const lab = await openMixedLab(executable)
    putConf(lab, config)
    add(lab, 'a', config, byReference)
    lab.must('sh', '-c', 'ip link add other type bridge; ip link set $(ls /sys/class/net | grep ^veth) master other')
    const ports = () => lab.ip('-j link show type veth').map(({ ifname, master }: Json) => [ifname, master])
    const before = ports()
    expect(tool(lab, 'repair')).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(
        /left as it is: interface eth0 of container pod-a .* is on other, and nothing proves/,
      ),
    })
    expect(ports()).toEqual(before)
  })

  test('the gateway of a network with another IPAM plugin comes back, as long as its note is there', async () => {
    const lab = await openLab(executable)
    const ipam = { type: 'static', addresses: [{ address: '10.7.0.5/24', gateway: '10.7.0.254' }] }
    const network = { ...conf(), ipam: { ...ipam, routes: [{ dst: '0.0.0.0/0' }] } }
    putConf(lab, network)
    const call = { path: `/opt/cni/bin:${REFERENCE}` }
    const one = add(lab, 'a', network, call)
    lab.must('ln', '-s', `${REFERENCE}/static`, '/opt/cni/bin')
    expect(toolJson(lab, 'doctor').findings).toEqual([])
    lab.must('ip', 'addr', 'flush', 'dev', BRIDGE, 'scope', 'global')
    expect(toolJson(lab, 'doctor').findings).toMatchObject([{ check: 'gateway-missing' }])
    expect(tool(lab, 'repair')).toMatchObject({ status: 0, stdout: expect.stringContaining('gateway 10.7.0.254/24') })
    expect(check(lab, one, call)).toMatchObject({ status: 0 })
    expect(ping(lab, 'a', '10.7.0.254')).toBe(true)
    lab.must('rm', '/run/pontoon/t/gateways')
    expect(tool(lab, 'repair').stdout).toContain('nothing to repair')
    lab.must('ip', 'addr', 'flush', 'dev', BRIDGE, 'scope', 'global')
    expect(tool(lab, 'repair')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining(`the gateway of 10.7.0.0/24 on ${BRIDGE}: only the IPAM plugin static knows it`),
    })
  })
})
