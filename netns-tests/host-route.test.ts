/** Pods whose subnet is one address: the gateway is beside it, and the node needs a route of its own to them. */
import { describe, expect, test } from 'vitest'
import { end, putConf, tool, toolJson } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { byReference, openMixedLab } from './mixed.ts'
import { leftovers, marksOf, packetFilter, STORE, store } from './observe.ts'
import { ping } from './ping.ts'
import { add, BRIDGE, callPlugin, check, conf, del, expectFault } from './plugin.ts'
import { REFERENCE } from './reference.ts'

const ADDRESSES = [
  { address: '10.7.0.5/32', gateway: '10.7.0.1' },
  { address: 'fd00:7::5/128', gateway: 'fd00:7::1' },
]
const alone = (keys: Json = {}): Json => ({
  ...conf({ isDefaultGateway: true, ...keys }),
  ipam: { type: 'static', addresses: ADDRESSES },
})
const call = { path: `/opt/cni/bin:${REFERENCE}` }
const routes = (lab: Lab): string[] =>
  ['-4', '-6'].flatMap((family) =>
    lab
      .must('ip', family, 'route', 'show', 'proto', '122')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' ').slice(0, 3).join(' ')),
  )
const BOTH = [`10.7.0.5 dev ${BRIDGE}`, `fd00:7::5 dev ${BRIDGE}`]
const reaches = (lab: Lab) => {
  for (const { address, gateway } of ADDRESSES) {
    expect(ping(lab, undefined, address.split('/')[0] ?? ''), address).toBe(true)
    expect(ping(lab, 'a', gateway), gateway).toBe(true)
  }
}

forEachExecutable((executable) => {
  describe('a pod whose subnet is its address', () => {
    test('reaches its gateway and is reached; CHECK misses its route, ADD and DEL make and remove it', async () => {
      const lab = await openLab(executable)
      const one = add(lab, 'a', alone({ ipMasq: false }), call)
      expect(routes(lab)).toEqual(BOTH)
      reaches(lab)
      expect(check(lab, one, call)).toMatchObject({ status: 0 })
      lab.must('ip', 'route', 'del', '10.7.0.5/32')
      expectFault(check(lab, one, call), { code: 103, about: /route of the node to 10\.7\.0\.5 on br-t/ })
      del(lab, one, call)
      expect(routes(lab)).toEqual([])
      del(lab, one, call)
      expect(leftovers(lab, ...marksOf(one))).toEqual([])
    })

    test('doctor finds that the route is gone, repair makes it, plan tells it', async () => {
      const lab = await openLab(executable)
      putConf(lab, alone())
      const one = add(lab, 'a', alone(), call)
      lab.must('ln', '-s', `${REFERENCE}/static`, '/opt/cni/bin')
      expect(toolJson(lab, 'doctor').findings).toEqual([])
      lab.must('ip', 'link', 'set', BRIDGE, 'down')
      lab.must('ip', 'link', 'set', BRIDGE, 'up')
      expect(routes(lab)).toEqual([])
      expect(toolJson(lab, 'doctor').findings.map(({ check }: Json) => check)).toContain('port-wrong')
      expect(tool(lab, 'repair')).toMatchObject({ status: 0 })
      expect(routes(lab)).toEqual(BOTH)
      expect(check(lab, one, call)).toMatchObject({ status: 0 })
      reaches(lab)
      const done = lab.run([
        'sh',
        '-c',
        '/opt/cni/bin/pontoon plan DEL --container pod-a </etc/cni/net.d/10-t.conflist',
      ])
      expect(done.stdout).toContain(`ip route del 10.7.0.5/32 dev ${BRIDGE} proto 122`)
    })

    test('goes with its route by GC, when it ended without DEL', async () => {
      const lab = await openLab(executable)
      add(lab, 'a', alone(), call)
      end(lab, 'a')
      const gc = { conf: { ...alone(), 'cni.dev/valid-attachments': [] }, ifname: '', ...call }
      expect(callPlugin(lab, 'GC', gc)).toMatchObject({ status: 0 })
      expect(routes(lab)).toEqual([])
    })

    test.each(['DEL', 'GC'])(
      'keeps route and masquerading when a former holder of its address goes by %s',
      async (verb) => {
        const lab = await openLab(executable)
        const range = [[{ subnet: '10.7.0.5/32', gateway: '10.7.0.1' }]]
        const config = { ...conf({ ipMasqBackend: 'nftables' }), ipam: { type: 'host-local', ranges: range } }
        const former = add(lab, 'a', config)
        // As a removal leaves it that was killed before it removed the entry.
        lab.must('sh', '-ec', `ip -n a link del eth0; rm ${STORE}/t/10.7.0.5`)
        const one = add(lab, 'b', config)
        const before = [routes(lab), packetFilter(lab), store(lab)]
        expect(routes(lab)).toEqual([BOTH[0]])
        if (verb === 'DEL') del(lab, former)
        else {
          const valid = { 'cni.dev/valid-attachments': [{ containerID: one.id, ifname: 'eth0' }] }
          expect(callPlugin(lab, 'GC', { conf: { ...config, ...valid }, ifname: '' })).toMatchObject({ status: 0 })
        }
        expect([routes(lab), packetFilter(lab), store(lab)]).toEqual(before)
        expect(check(lab, one)).toMatchObject({ status: 0 })
        del(lab, one)
        expect(routes(lab)).toEqual([])
        expect(leftovers(lab, ...marksOf(former, one))).toEqual([])
      },
    )

    test('leaves no rule of its own behind: all of a network share one', async () => {
      const lab = await openLab(executable)
      const of = (address: string) => ({
        ...conf({ ipMasqBackend: 'nftables' }),
        ipam: { type: 'host-local', ranges: [[{ subnet: `${address}/32`, gateway: '10.7.0.1' }]] },
      })
      const pods = ['a', 'b', 'c'].map((name, i) => add(lab, name, of(`10.7.0.${i + 5}`)))
      for (const one of pods) expect(check(lab, one)).toMatchObject({ status: 0 })
      for (const one of pods) del(lab, one)
      expect(packetFilter(lab).filter((line) => line.includes('saddr @'))).toEqual([
        'ip saddr @pods-t-single/32 masquerade comment "net: t, single/32"',
      ])
    })

    test('on another bridge keeps its route to the same address', async () => {
      const lab = await openLab(executable)
      const one = add(lab, 'a', alone({ ipMasq: false }), call)
      add(lab, 'b', alone({ ipMasq: false, name: 'u', bridge: 'br-u' }), call)
      const before = routes(lab)
      expect(before).toEqual(BOTH.map((line) => line.replace(BRIDGE, 'br-u')))
      del(lab, one, call)
      expect(routes(lab)).toEqual(before)
    })

    test('of an ADD that fails, it is taken back', async () => {
      const lab = await openLab(executable)
      lab.must('sh', '-c', 'mount --bind /bin/false "$(readlink -f "$(command -v nft)")"')
      expect(callPlugin(lab, 'ADD', { id: 'pod-a', netns: lab.netns('a'), conf: alone(), ...call }).status).toBe(1)
      expect(routes(lab)).toEqual([])
    })

    test('of the reference has none, which CHECK does not miss; another route to it is nobody’s to remove', async () => {
      const lab = await openMixedLab(executable)
      const config = { ...alone({ isDefaultGateway: false, cniVersion: '1.0.0' }) }
      const old = add(lab, 'a', config, byReference)
      expect(check(lab, old, call)).toMatchObject({ status: 0 })
      lab.must('ip', 'route', 'add', '10.7.0.5/32', 'dev', BRIDGE)
      del(lab, old, call)
      expect(lab.must('ip', 'route', 'show', '10.7.0.5')).toContain(BRIDGE)
    })
  })
})
