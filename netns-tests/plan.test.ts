/** `pontoon plan` tells what the verbs do then, and changes nothing; `pontoon topology` shows what is there. */
import { describe, expect, test } from 'vitest'
import { end, putConf, tool, toolWith } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { snapshot } from './observe.ts'
import { add, addressesOf, BRIDGE, conf, del, dualStack } from './plugin.ts'

function plan(lab: Lab, config: Json, ...words: readonly string[]): Json {
  const done = toolWith(lab, { stdin: JSON.stringify(config) }, 'plan', ...words, '--json')
  return { ...JSON.parse(done.stdout), status: done.status }
}

const lines = (planned: Json): string[] => planned.steps.flatMap(({ run }: Json) => run)

forEachExecutable((executable) => {
  describe('plan', () => {
    test('ADD on a bare node: every line with its undo, and the address that ADD gives then', async () => {
      const lab = await openLab(executable)
      const netns = lab.netns('a')
      const before = snapshot(lab)
      const planned = plan(lab, dualStack(), 'ADD', '--container', 'pod-a', '--netns', netns)
      expect(snapshot(lab)).toEqual(before)
      expect(planned).toMatchObject({ status: 0, ok: true, verb: 'ADD' })
      expect(lines(planned)).toContain(`ip link add name ${BRIDGE} address ${bridgeMac(planned)} type bridge`)
      expect(planned.steps.find(({ what }: Json) => what.startsWith('veth'))).toMatchObject({
        undo: [expect.stringMatching(/^ip link del dev veth\w{11}$/)],
      })
      // Each step says what takes it back: lines of its own, or what it goes with.
      for (const { what, undo, undone } of planned.steps) expect([what, undo.length > 0]).toEqual([what, undone === ''])
      const fates = planned.steps.map(({ what, undone }: Json) => `${what}: ${undone}`)
      expect(fates).toContain(`bridge ${BRIDGE}: undone when nobody uses it`)
      expect(fates.join('\n')).toMatch(/^interface eth0: undone with veth\w{11}$/m)
      expect(fates).toContain('sysctl net.ipv4.ip_forward: kept: others may need it by then')
      const one = add(lab, 'a', dualStack())
      const reserved = lines(planned).flatMap((line) => /^reserve (.*)/.exec(line)?.[1] ?? [])
      expect(reserved).toEqual(addressesOf(one.result))
      for (const { name } of one.result.interfaces.slice(0, 2)) expect(lines(planned).join('\n')).toContain(name)
    })

    test('ADD on a node with pods: only what the pod needs; the whole list is taken from stdin, too', async () => {
      const lab = await openLab(executable)
      add(lab, 'a')
      const { cniVersion, name, ...plugin } = conf()
      const planned = plan(lab, { cniVersion, name, plugins: [{ type: 'loopback' }, plugin] }, 'ADD')
      expect(planned.ok, JSON.stringify(planned)).toBe(true)
      expect(lines(planned)).toContain('reserve 10.9.0.3')
      expect(lines(planned).join('\n')).not.toMatch(/type bridge$|sysctl/m)
    })

    test('ADD that would be refused says why, with the code that ADD has', async () => {
      const lab = await openLab(executable)
      const one = add(lab, 'a')
      const again = ['ADD', '--container', 'pod-a', '--netns', '/run/netns/a']
      expect(plan(lab, conf(), ...again)).toMatchObject({ status: 1, ok: false, code: 101 })
      expect(plan(lab, conf(), 'ADD', '--netns', '/nowhere')).toMatchObject({ ok: false, code: 4 })
      expect(plan(lab, conf({ mtu: 'x' }), 'ADD')).toMatchObject({ ok: false, code: 7 })
      const asked = plan(lab, conf({ args: { cni: { ips: addressesOf(one.result) } } }), 'ADD')
      expect(asked).toMatchObject({ ok: false, code: 101 })
      expect(plan(lab, conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/30' }]] } }), 'ADD')).toMatchObject({ code: 100 })
      lab.must('ip', 'link', 'add', 'br-x', 'type', 'veth', 'peer', 'name', 'other')
      expect(plan(lab, conf({ bridge: 'br-x' }), 'ADD')).toMatchObject({
        code: 101,
        msg: expect.stringMatching(/br-x/),
      })
      expect(tool(lab, 'plan', 'SUB').status).toBe(2)
    })

    test('DEL: what is removed, and then nothing is left to plan', async () => {
      const lab = await openLab(executable)
      const one = add(lab, 'a')
      const before = snapshot(lab)
      const planned = plan(lab, conf(), 'DEL', '--container', 'pod-a')
      expect(snapshot(lab)).toEqual(before)
      expect(lines(planned)).toEqual([
        `ip link del dev ${one.result.interfaces[1].name}`,
        expect.stringMatching(/^nft 'add element .*; delete element .*10\.9\.0\.2 }'$/),
        'release 10.9.0.2',
      ])
      del(lab, one)
      expect(plan(lab, conf(), 'DEL', '--container', 'pod-a').steps).toEqual([])
    })

    test('GC: what the dead have', async () => {
      const lab = await openLab(executable)
      add(lab, 'a')
      add(lab, 'b')
      expect(plan(lab, conf(), 'GC').steps).toEqual([])
      end(lab, 'b')
      expect(lines(plan(lab, conf(), 'GC'))).toContain('release 10.9.0.3')
      const listed = plan(lab, conf({ 'cni.dev/valid-attachments': [] }), 'GC')
      expect(lines(listed)).toEqual(expect.arrayContaining(['release 10.9.0.2', 'release 10.9.0.3']))
    })
  })

  test('topology: the tree, and a picture that is well-formed', async () => {
    const lab = await openLab(executable)
    putConf(lab, dualStack())
    const one = add(lab, 'a', dualStack(), { args: 'K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web;IgnoreUnknown=1' })
    lab.must('sh', '-c', `ip link add out type veth peer name lan; ip link set lan master ${BRIDGE}`)
    const tree = tool(lab, 'topology')
    expect(tree.stdout).toContain(`bridge ${BRIDGE} (up, gateway 10.9.0.1/24, fd00:9::1/64)`)
    expect(tree.stdout).toContain(`port ${one.result.interfaces[1].name} (up)`)
    expect(tree.stdout).toContain('pod shop/web  eth0  10.9.0.2/24, fd00:9::2/64')
    expect(tree.stdout).toContain('port lan (down)')
    expect(tool(lab, 'topology', '--format', 'svg').stdout).toMatch(/^<svg [\s\S]*shop\/web[\s\S]*<\/svg>\n$/)
    expect(tool(lab, 'topology', '--format', 'mermaid').stdout).toContain('shop/web')
    expect(JSON.parse(tool(lab, 'topology', '--json').stdout).networks).toMatchObject([
      { name: 't', masquerade: 'nftables' },
    ])
    expect(tool(lab, 'topology', '--format', 'png').status).toBe(2)
  })
})

const bridgeMac = (planned: Json): string => /address (\S+) type bridge/.exec(lines(planned).join('\n'))?.[1] ?? ''
