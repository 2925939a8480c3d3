/** What happens to a bridge and its pods in the life of a node. */
import { existsSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { addresses, leftovers, marksOf } from './observe.ts'
import { ping } from './ping.ts'
import {
  add,
  addressesOf,
  BRIDGE,
  callPlugin,
  check,
  conf,
  del,
  dualStack,
  expectFault,
  startPatiently,
} from './plugin.ts'

const macOf = (lab: Lab, device: string): string => lab.ip(`-j link show dev ${device}`)[0].address
const other = (subnet: string): Json => conf({ ipam: { ranges: [[{ subnet }]] } })
const setting = (lab: Lab, key: string): string => lab.must('cat', `/proc/sys/net/${key}`).trim()

forEachExecutable((executable) => {
  test('the node gets another subnet: the old gateway address stays while pods live by it, and goes after them', async () => {
    const lab = await openLab(executable)
    const old = add(lab, 'a')
    const fresh = add(lab, 'b', other('10.77.0.0/24'))
    expect(addresses(lab, BRIDGE)).toEqual(['10.9.0.1/24', '10.77.0.1/24'])
    expect(ping(lab, 'a', '10.9.0.1')).toBe(true)
    expect(check(lab, old).status).toBe(0)
    del(lab, old)
    const next = add(lab, 'c', other('10.77.0.0/24'))
    expect(addresses(lab, BRIDGE)).toEqual(['10.77.0.1/24'])
    for (const one of [fresh, next]) del(lab, one)
    expect(leftovers(lab, ...marksOf(old, fresh, next))).toEqual([])
  })

  test("an admin's address of another subnet on the bridge stays, with and without forceAddress", async () => {
    const lab = await openLab(executable)
    lab.must('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
    lab.must('ip', 'addr', 'add', '192.168.7.1/24', 'dev', BRIDGE)
    add(lab, 'a')
    add(lab, 'b', conf({ forceAddress: true }))
    expect(addresses(lab, BRIDGE)).toEqual(['192.168.7.1/24', '10.9.0.1/24'])
  })

  test('an address of the same subnet is in the way: forceAddress replaces it', async () => {
    const lab = await openLab(executable)
    lab.must('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
    lab.must('ip', 'addr', 'add', '10.9.0.200/24', 'dev', BRIDGE)
    expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x') }), {
      code: 101,
      about: /10\.9\.0\.1\/24.*10\.9\.0\.200\/24/s,
    })
    add(lab, 'a', conf({ forceAddress: true }))
    expect(addresses(lab, BRIDGE)).toEqual(['10.9.0.1/24'])
  })

  test('two range sets of one family: both gateways are on the bridge, and both answer', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', conf({ ipam: { ranges: [[{ subnet: '10.4.0.0/24' }], [{ subnet: '10.5.0.0/24' }]] } }))
    expect(addresses(lab, BRIDGE)).toEqual(['10.4.0.1/24', '10.5.0.1/24'])
    for (const gateway of ['10.4.0.1', '10.5.0.1']) expect(ping(lab, 'a', gateway), gateway).toBe(true)
    expect(check(lab, one).status).toBe(0)
  })

  test("the bridge's hardware address is its own and stays, also without a gateway", async () => {
    const lab = await openLab(executable)
    const config = conf({ isGateway: false, ipMasq: false, ipam: { routes: [] } })
    const pods = ['a', 'b', 'c', 'd'].map((name) => add(lab, name, config))
    const mac = macOf(lab, BRIDGE)
    expect(mac).not.toBe('00:00:00:00:00:00')
    const seen = pods.map((one) => {
      del(lab, one)
      return macOf(lab, BRIDGE)
    })
    expect([...seen, add(lab, 'e', config).result.interfaces[0].mac]).toEqual([mac, mac, mac, mac, mac])
  })

  test("an admin's hardware address on a bridge that was there before stays", async () => {
    const lab = await openLab(executable)
    lab.must('ip', 'link', 'add', BRIDGE, 'address', '02:00:00:00:00:77', 'type', 'bridge')
    expect(add(lab, 'a').result.interfaces[0].mac).toBe('02:00:00:00:00:77')
  })

  test('IPv6 is off for new devices: a dual-stack network works all the same', async () => {
    const lab = await openLab(executable)
    lab.must('sh', '-c', 'echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6')
    const netns = lab.netns('a')
    lab.must('ip', 'netns', 'exec', 'a', 'sh', '-c', 'echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6')
    const one = add(lab, 'a', dualStack(), { netns })
    expect(ping(lab, 'a', 'fd00:9::1')).toBe(true)
    expect(check(lab, one).status).toBe(0)
  })

  test('forwarding of IPv6 begins: uplinks that took router advertisements take them on', async () => {
    const lab = await openLab(executable)
    lab.must('ip', 'link', 'add', 'uplink0', 'type', 'veth', 'peer', 'name', 'uplink1')
    lab.must('sh', '-c', 'echo 0 > /proc/sys/net/ipv6/conf/uplink1/accept_ra')
    add(lab, 'a', dualStack())
    expect(setting(lab, 'ipv6/conf/all/forwarding')).toBe('1')
    expect(setting(lab, 'ipv6/conf/uplink0/accept_ra')).toBe('2')
    expect(setting(lab, 'ipv6/conf/uplink1/accept_ra')).toBe('0')
  })

  test('/proc/sys is read-only: what is right already is no obstacle, what is wrong is named', async () => {
    const lab = await openLab(executable)
    const lock = 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys'
    lab.must('sh', '-c', `echo 0 > /proc/sys/net/ipv4/ip_forward; ${lock}`)
    const done = callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x') })
    expectFault(done, { code: 102, about: /net\.ipv4\.ip_forward.*sysctl -w net\.ipv4\.ip_forward=1/s })
    expect(leftovers(lab, 'x', '10.9.0.2')).toEqual([])
    lab.must('sh', '-c', `umount /proc/sys; echo 1 > /proc/sys/net/ipv4/ip_forward; ${lock}`)
    const one = add(lab, 'a')
    expect(check(lab, one).status).toBe(0)
  })

  test('the host end is found again: the same name for the same attachment, and a label that tells whose it is', async () => {
    const lab = await openLab(executable)
    const args = 'IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=shop-0'
    const ends = [1, 2].map(() => {
      const one = add(lab, 'a', conf(), { args })
      const name = one.result.interfaces[1].name
      const { ifalias, linkinfo } = lab.ip(`-d -j link show dev ${name}`)[0]
      del(lab, one)
      return { name, ifalias, kind: linkinfo.info_kind }
    })
    expect(ends[0]).toEqual({
      name: expect.stringMatching(/^veth[0-9a-f]{11}$/),
      ifalias: 'pontoon:t/pod-a/eth0/web/shop-0',
      kind: 'veth',
    })
    expect(ends[1]).toEqual(ends[0])
  })

  test('masquerading of one family, with exclusions and a fixed source', async () => {
    const lab = await openLab(executable)
    const keys = { ipMasq: false, ipMasq4: true, ipMasqExclude: ['10.0.0.0/8', 'fd00::/8'], snatTo: ['192.0.2.7'] }
    const one = add(lab, 'a', dualStack(keys))
    const rules = lab.must('nft', 'list', 'ruleset')
    expect(rules).toMatch(/ip saddr @\S+ ip daddr != \{? ?10\.0\.0\.0\/8.* snat ip to 192\.0\.2\.7/)
    expect(rules).not.toMatch(/ip6 saddr/)
    expect(check(lab, one).status).toBe(0)
    const plain = add(lab, 'b', dualStack())
    expect(lab.must('nft', 'list', 'ruleset')).toMatch(/ip6 saddr @\S+ ip6 daddr != fd00:9::\/64 masquerade/)
    for (const each of [one, plain]) del(lab, each)
    expect(leftovers(lab, ...marksOf(one, plain))).toEqual([])
  })

  test('addresses that are excluded are given only to who asks for them', async () => {
    const lab = await openLab(executable)
    const config = conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/29', exclude: ['10.9.0.2', '10.9.0.4/31'] }]] } })
    const given = ['a', 'b'].flatMap((name) => addressesOf(add(lab, name, config).result))
    expect(given).toEqual(['10.9.0.3', '10.9.0.6'])
    expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x'), conf: config }), { code: 100 })
    expectFault(callPlugin(lab, 'STATUS', { conf: config }), { code: 50 })
    expect(addressesOf(add(lab, 'c', config, { args: 'IP=10.9.0.5' }).result)).toEqual(['10.9.0.5'])
  })

  test('verbs that only look or remove make no folder', async () => {
    const lab = await openLab(executable)
    const config = conf({ ipam: { dataDir: '/var/lib/cni/none' } })
    callPlugin(lab, 'STATUS', { conf: config })
    callPlugin(lab, 'DEL', { id: 'x', netns: lab.netns('x'), conf: config })
    callPlugin(lab, 'GC', { conf: { ...config, 'cni.dev/valid-attachments': [] } })
    callPlugin(lab, 'CHECK', { id: 'x', netns: 'x', conf: { ...config, prevResult: { cniVersion: '1.1.0' } } })
    expect(existsSync(`${lab.root}/var/lib/cni/none`)).toBe(false)
  })

  test('the executable is replaced while ADDs run: none of them notices', async () => {
    const lab = await openLab(executable)
    const copy = 'cp -L /opt/cni/bin/pontoon /opt/cni/bin/.new && mv -f /opt/cni/bin/.new /opt/cni/bin/copy'
    lab.must('sh', '-c', copy)
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`)
    for (const name of names) lab.netns(name)
    const adds = names.map((name) => startPatiently(lab, 'ADD', { id: `pod-${name}`, netns: name, exe: 'copy' }))
    for (let i = 0; i < 5; i++) lab.must('sh', '-c', copy)
    const done = await Promise.all(adds)
    expect(done.map(({ status }) => status)).toEqual(names.map(() => 0))
  })

  test('a name of the configuration that would be a command to ip is refused before anything is made', async () => {
    const lab = await openLab(executable)
    writeFileSync(`${lab.root}/run/mark`, '')
    const names = ['a b', 'x\nlink del dev lo', 'br#0', '-force', "o'neill", 'br"0', 'b\\0', 'ünicode', 'a/b', '..']
    for (const bridge of names) {
      expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x'), conf: conf({ bridge }) }), {
        code: 7,
        about: /bridge/,
      })
    }
    expect(lab.ip('-j link show').map((link: Json) => link.ifname)).toEqual(['lo'])
    expect(leftovers(lab, 'x')).toEqual([])
  })
})
