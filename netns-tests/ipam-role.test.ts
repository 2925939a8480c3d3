/** The role host-local: Pontoon as the IPAM plugin of interface plugins that are not Pontoon. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Executable, forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { addresses, files, STORE, store } from './observe.ts'
import { add, addressesOf, type Call, callPlugin, check, del, expectFault } from './plugin.ts'
import { REFERENCE } from './reference.ts'

const ROOT = '/var/cache/cni-clients/root'
const folders = [
  { release: '1.1.1', folder: `${ROOT}/bookworm/usr/lib/cni` },
  { release: '1.9.1', folder: `${ROOT}/sid/usr/lib/cni` },
].filter(({ folder }) => existsSync(`${folder}/ptp`))

const base = {
  cniVersion: '1.0.0',
  name: 't',
  ipam: {
    type: 'host-local',
    ranges: [[{ subnet: '10.9.0.0/24' }], [{ subnet: 'fd00:9::/64' }]],
    routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
  },
}

const uplink = 'ip link add uplink type veth peer name other; ip link set uplink up; ip link set other up'

/** Plugins that ask another one for addresses, and what each needs of the host. */
const plugins: { type: string; keys?: Json; needs?: string }[] = [
  { type: 'bridge', keys: { bridge: 'br-t', isGateway: true, ipMasq: true } },
  { type: 'ptp', keys: { ipMasq: true } },
  { type: 'macvlan', keys: { master: 'uplink' }, needs: uplink },
  { type: 'ipvlan', keys: { master: 'uplink' }, needs: uplink },
  {
    type: 'host-device',
    keys: { device: 'pod-NAME' },
    needs: 'for i in a b; do ip link add pod-$i type veth peer name peer-$i; ip link set peer-$i up; done',
  },
  { type: 'dummy' },
  { type: 'tap' },
]

/** Not every kernel has every kind of device. */
function hasKind(type: string): boolean {
  const kind = type === 'macvlan' || type === 'ipvlan' || type === 'dummy' ? type : 'veth'
  const script = `ip link add uplink type veth peer name other; ip link add ${kind === 'dummy' ? '' : 'link uplink'} name t0 type ${kind}`
  return kind === 'veth' || spawnSync('unshare', ['--net', 'sh', '-ec', script]).status === 0
}

const canMake = new Set(plugins.map(({ type }) => type).filter(hasKind))
for (const { type } of plugins) if (!canMake.has(type)) console.log(`this kernel makes no ${type}: not tried with it`)

/** The interface plugins are in /run/theirs; in CNI_PATH there is nothing but Pontoon. */
async function openLabWith(executable: Executable, folder: string, needs = ':'): Promise<Lab> {
  const lab = await openLab(executable)
  lab.must('sh', '-ec', `mkdir /run/theirs; mount --bind ${folder} /run/theirs; ${needs}`)
  return lab
}

const role = { exe: 'host-local' }
const call = (lab: Lab, verb: string, keys: Json = {}, more: Call = {}) =>
  callPlugin(lab, verb, { ...role, id: 'pod-a', netns: lab.netns('a'), conf: { ...base, type: 'x', ...keys }, ...more })

forEachExecutable((executable) => {
  describe.each(folders)('the plugins of release $release', ({ folder }) => {
    const able = plugins.filter(({ type }) => existsSync(`${folder}/${type}`) && canMake.has(type))
    test.for(able)('$type gets its addresses, and gives them back', async ({ type, keys = {}, needs }) => {
      const lab = await openLabWith(executable, folder, needs)
      const theirs = { exe: `../../../run/theirs/${type}` }
      const confOf = (name: string) => ({ ...base, type, ...JSON.parse(JSON.stringify(keys).replace('NAME', name)) })
      const [one, two] = ['a', 'b'].map((name) => add(lab, name, confOf(name), theirs))
      if (!one || !two) return
      expect(addressesOf(one.result)).toEqual(['10.9.0.2', 'fd00:9::2'])
      expect(addressesOf(two.result)).toEqual(['10.9.0.3', 'fd00:9::3'])
      expect(addresses(lab, 'eth0', 'a').toSorted()).toEqual(one.result.ips.map((ip: Json) => ip.address).toSorted())
      expect(store(lab)).toEqual({
        '10.9.0.2': 'pod-a\r\neth0',
        '10.9.0.3': 'pod-b\r\neth0',
        'fd00:9::2': 'pod-a\r\neth0',
        'fd00:9::3': 'pod-b\r\neth0',
      })
      expect(check(lab, one, theirs)).toMatchObject({ status: 0, stdout: '' })
      lab.must('rm', `${STORE}/t/10.9.0.2`)
      expectFault(check(lab, one, theirs), { code: 103, about: /10\.9\.0\.2/ })
      for (const each of [one, two]) del(lab, each, theirs)
      expect(store(lab)).toEqual({})
    })
  })

  test.runIf(REFERENCE)('its result is that of the reference, in every version', async () => {
    const lab = await openLabWith(executable, REFERENCE ?? '')
    lab.must('sh', '-ec', 'printf "nameserver 10.0.0.1\\nsearch a b\\noptions ndots:5\\n" >/run/resolv.conf')
    const routes = [{ dst: '0.0.0.0/0' }, { dst: '10.1.0.0/16', gw: '10.9.0.9', mtu: 1400 }]
    const ipam = { ...base.ipam, routes, resolvConf: '/run/resolv.conf' }
    for (const cniVersion of [undefined, '0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']) {
      const results = [role, { exe: '../../../run/theirs/host-local' }].map((who) => {
        const done = call(lab, 'ADD', { cniVersion, ipam }, who)
        const held = files(lab, STORE)
        lab.must('rm', '-r', STORE)
        return {
          stdout: done.stdout.trim(),
          held: Object.entries(held).filter(([path]) => !/\/(lock|pontoon\.boot)$/.test(path)),
        }
      })
      expect(results[0], cniVersion).toEqual(results[1])
    }
  })

  test('all verbs without any interface: only the store is touched', async () => {
    const lab = await openLab(executable)
    const before = lab.must('ip', 'addr')
    const result = call(lab, 'ADD', { cniVersion: '1.1.0' }).json
    expect(result).toEqual({
      cniVersion: '1.1.0',
      ips: [
        { address: '10.9.0.2/24', gateway: '10.9.0.1' },
        { address: 'fd00:9::2/64', gateway: 'fd00:9::1' },
      ],
      routes: base.ipam.routes,
    })
    expectFault(call(lab, 'ADD'), { code: 101, about: /pod-a.*already/s })
    expect(call(lab, 'CHECK', { prevResult: result })).toMatchObject({ status: 0, stdout: '' })
    const other = { cniVersion: '1.0.0', ips: [{ address: '10.9.0.9/24' }] }
    expectFault(call(lab, 'CHECK', { prevResult: other }), { code: 103, about: /10\.9\.0\.9/ })
    expect(call(lab, 'STATUS', { cniVersion: '1.1.0' })).toMatchObject({ status: 0, stdout: '' })
    const gc = (list: Json) => call(lab, 'GC', { cniVersion: '1.1.0', 'cni.dev/valid-attachments': list })
    expect(gc([{ containerID: 'pod-a', ifname: 'eth0' }])).toMatchObject({ status: 0, stdout: '' })
    expect(Object.keys(store(lab))).toHaveLength(2)
    expect(gc([])).toMatchObject({ status: 0, stdout: '' })
    expect(store(lab)).toEqual({})
    for (const netns of ['a', '', '/run/netns/gone']) {
      expect(call(lab, 'DEL', {}, { netns })).toMatchObject({ status: 0, stdout: '' })
    }
    expect(lab.must('ip', 'addr')).toBe(before)
    expect(lab.ip('-n a -j link show')).toHaveLength(1)
  })

  test('the clock is set after the first ADD of a store: its pod is not of another boot', async () => {
    const lab = await openLab(executable)
    const four = { ipam: { type: 'host-local', subnet: '10.9.0.0/24' } }
    expect(addressesOf(call(lab, 'ADD', four, { id: 'pod-a' }).json)).toEqual(['10.9.0.2'])
    lab.must('touch', '-d', '2020-01-01', `${STORE}/t/10.9.0.2`)
    expect(addressesOf(call(lab, 'ADD', four, { id: 'pod-b' }).json)).toEqual(['10.9.0.3'])
    expect(Object.keys(store(lab)).sort()).toEqual(['10.9.0.2', '10.9.0.3'])
  })

  test('the machine boots with its clock behind: what another boot had reserved is free once the clock is right', async () => {
    const lab = await openLab(executable)
    const single = { cniVersion: '1.1.0', ipam: { type: 'host-local', subnet: '10.9.0.0/30' } }
    lab.must('sh', '-ec', `mkdir -p ${STORE}/t; printf 'old\\r\\neth0' >${STORE}/t/10.9.0.2`)
    lab.must('touch', '-d', '+1 day', `${STORE}/t/10.9.0.2`)
    expectFault(call(lab, 'ADD', single, { id: 'pod-a' }), { code: 100 })
    expectFault(call(lab, 'STATUS', single), { code: 50 })
    const booted = Math.floor(Date.now() / 1000) + 2 * 86_400
    lab.must('sh', '-ec', `echo 'btime ${booted}' >/run/stat; mount --bind /run/stat /proc/stat`)
    expect(call(lab, 'STATUS', single)).toMatchObject({ status: 0 })
    expect(addressesOf(call(lab, 'ADD', single, { id: 'pod-a' }).json)).toEqual(['10.9.0.2'])
    expectFault(call(lab, 'ADD', single, { id: 'pod-b' }), { code: 100 })
  })

  test('asked-for addresses: by CNI_ARGS, args.cni and runtimeConfig', async () => {
    const lab = await openLab(executable)
    const four = { ipam: { type: 'host-local', subnet: '10.9.0.0/24' } }
    const asked: { name: string; keys?: Json; more?: Call; want: string }[] = [
      { name: 'a', more: { args: 'IP=10.9.0.20' }, want: '10.9.0.20' },
      { name: 'b', keys: { args: { cni: { ips: ['10.9.0.21'] } } }, want: '10.9.0.21' },
      { name: 'c', keys: { runtimeConfig: { ips: ['10.9.0.22/24'] } }, want: '10.9.0.22' },
      { name: 'd', keys: { runtimeConfig: { ipRanges: [[{ subnet: '10.7.0.0/24' }]] } }, want: '10.7.0.2' },
    ]
    for (const { name, keys = {}, more = {}, want } of asked) {
      const done = call(lab, 'ADD', { ...four, ...keys }, { ...more, id: `pod-${name}` })
      expect(addressesOf(done.json)[0], name).toBe(want)
    }
    const taken = call(lab, 'ADD', four, { id: 'pod-e', args: 'IP=10.9.0.20' })
    expectFault(taken, { code: 101, about: /10\.9\.0\.20.*pod-a/s })
  })
})
