/** What users of the plugins that Pontoon replaces have reported, where no other test has it. Named by what they see. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { leftovers, marksOf, STORE, store } from './observe.ts'
import { add, type Call, callPlugin, check, conf, del, dualStack, expectFault, NET } from './plugin.ts'
import { holdLock, isHeld } from './until.ts'

/** An IPAM plugin that gives a fixed address, and notes in DEL whether eth0 is there; it fails when told to. */
function installStub(lab: Lab): void {
  const script = `#!/bin/sh
case $CNI_COMMAND in
  ADD) echo '{"cniVersion":"1.1.0","ips":[{"address":"10.9.0.7/24","gateway":"10.9.0.1"}]}' ;;
  DEL) ip -n a link show eth0 >/run/seen 2>&1; [ ! -e /run/fail ] || { echo '{"code":111,"msg":"stub"}'; exit 1; } ;;
esac
`
  writeFileSync(`${lab.root}/opt/cni/bin/stub`, script)
  chmodSync(`${lab.root}/opt/cni/bin/stub`, 0o755)
}

forEachExecutable((executable) => {
  test('plugins#791: a DHCP lease is released while the interface is still there; the rest goes whatever it says', async () => {
    const lab = await openLab(executable)
    installStub(lab)
    const config = conf({ ipam: { type: 'stub' } })
    const one = add(lab, 'a', config)
    writeFileSync(`${lab.root}/run/fail`, '')
    expectFault(callPlugin(lab, 'DEL', { id: one.id, netns: 'a', conf: config }), { about: /stub/ })
    expect(readFileSync(`${lab.root}/run/seen`, 'utf8')).toContain('eth0')
    expect(leftovers(lab, ...marksOf(one))).toEqual([])
    lab.must('rm', '/run/fail')
    del(lab, one)
  })

  test('plugins#561: of five thousand reservations ADD, CHECK and DEL look at a few', async () => {
    const lab = await openLab(executable)
    const config = conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/16' }]] } })
    del(lab, add(lab, 'first', config))
    const folder = `${lab.root}${STORE}/${NET}`
    for (let i = 0; i < 5000; i++) writeFileSync(`${folder}/10.9.${8 + (i >> 8)}.${i & 255}`, `c${i}\r\neth0`)
    // Its own are few, the others' are none of its business.
    const under = ['strace', '-f', '-qq', '-o', '/run/trace', '-e', 'trace=%file', '-e', 'signal=none']
    const looksAt = (call: (how: Call) => unknown): number => {
      call({ under })
      return readFileSync(`${lab.root}/run/trace`, 'utf8').match(/networks\/t\/10\.9\.\d+\.\d+"/g)?.length ?? 0
    }
    const one = add(lab, 'a', config)
    expect(looksAt((how) => add(lab, 'b', config, how))).toBeLessThan(20)
    expect(looksAt((how) => check(lab, one, how))).toBeLessThan(20)
    expect(looksAt((how) => del(lab, one, how))).toBeLessThan(20)
  })

  test('cni#215: somebody holds the lock of iptables, and a pod is added all the same', async () => {
    const lab = await openLab(executable)
    await holdLock(lab, '/run/xtables.lock')
    const one = add(lab, 'a', dualStack())
    del(lab, one)
    expect(isHeld(lab, '/run/xtables.lock')).toBe(true)
  })

  test('plugins#430: the firewall of the node lets nothing through: it is left as it is, and ADD succeeds', async () => {
    const lab = await openLab(executable)
    lab.must('iptables', '-P', 'FORWARD', 'DROP')
    const one = add(lab, 'a')
    expect(lab.must('iptables', '-S', 'FORWARD')).toBe('-P FORWARD DROP\n')
    expect(check(lab, one)).toMatchObject({ status: 0 })
  })

  test('cni#629: a route with scope link has no gateway, one without has the gateway of its range', async () => {
    const lab = await openLab(executable)
    const routes = [{ dst: '192.0.2.0/24' }, { dst: '198.51.100.0/24', scope: 253 }]
    const one = add(lab, 'a', conf({ isGateway: false, ipMasq: false, ipam: { routes } }))
    const seen = lab.ip('-n a -j route show').filter((route: Json) => /^(192|198)/.test(route.dst))
    expect(seen.map(({ dst, gateway, scope }: Json) => ({ dst, gateway, scope }))).toEqual([
      { dst: '192.0.2.0/24', gateway: '10.9.0.1', scope: undefined },
      { dst: '198.51.100.0/24', gateway: undefined, scope: 'link' },
    ])
    expect(check(lab, one)).toMatchObject({ status: 0 })
  })

  test('buildkit PR#4352: without root, ADD says what it may not and makes nothing; DEL and STATUS make no folder', async () => {
    const lab = await openLab(executable)
    lab.netns('a')
    const under = ['setpriv', '--reuid=65534', '--clear-groups', '--inh-caps=-all', '--bounding-set=-all']
    for (const verb of ['ADD', 'STATUS']) {
      const done = callPlugin(lab, verb, { id: 'x', netns: 'a', under })
      expectFault(done)
      expect(done.json.code).not.toBe(999)
    }
    callPlugin(lab, 'DEL', { id: 'x', netns: 'a', under })
    expect(lab.run(['test', '-e', `${STORE}/${NET}`]).status).toBe(1)
    expect(leftovers(lab, 'x')).toEqual([])
  })

  test('plugins#328: host-local alone, asked twice for the same: refused with the remedy, and the first one stays', async () => {
    const lab = await openLab(executable)
    const call = { id: 'r1', netns: lab.netns('a'), exe: 'host-local', args: 'IP=10.9.0.9' }
    expect(callPlugin(lab, 'ADD', call)).toMatchObject({ status: 0 })
    expectFault(callPlugin(lab, 'ADD', call), { code: 101, about: /call DEL first/ })
    expect(store(lab)).toEqual({ '10.9.0.9': 'r1\r\neth0' })
    expect(callPlugin(lab, 'DEL', call)).toMatchObject({ status: 0 })
    expect(callPlugin(lab, 'ADD', call)).toMatchObject({ status: 0 })
  })

  test('containerd#6359: DEL with a result of any version, or of none', async () => {
    const lab = await openLab(executable)
    const old = { cniVersion: '0.2.0', ip4: { ip: '10.9.0.2/24' }, dns: {} }
    for (const prevResult of [old, { cniVersion: '9.9.9' }, { ips: 'x' }, [], 7, null]) {
      const one = add(lab, 'a')
      expect(callPlugin(lab, 'DEL', { id: one.id, netns: 'a', conf: { ...one.conf, prevResult } })).toMatchObject({
        status: 0,
        stdout: '',
      })
      expect(leftovers(lab, ...marksOf(one))).toEqual([])
    }
  })

  test('plugins#908: a /31 has two addresses, and both are given out', async () => {
    const lab = await openLab(executable)
    const config = conf({
      isGateway: false,
      ipMasq: false,
      ipam: { ranges: [[{ subnet: '10.1.1.0/31', gateway: '10.1.2.1' }]], routes: [] },
    })
    mkdirSync(`${lab.root}${STORE}`, { recursive: true })
    const given = ['a', 'b'].map((name) => add(lab, name, config).result.ips[0].address)
    expect(given.toSorted()).toEqual(['10.1.1.0/31', '10.1.1.1/31'])
    expectFault(callPlugin(lab, 'ADD', { id: 'c', netns: lab.netns('c'), conf: config }), { code: 100 })
  })
})
