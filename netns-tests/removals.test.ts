/** Removals that take their time, while an address or the bridge goes to somebody else. */
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { holdUp } from './hold-up.ts'
import { type Lab, openLab } from './lab.ts'
import { leftovers } from './observe.ts'
import { add, BRIDGE, callPlugin, check, conf, del, expectFault, startPlugin } from './plugin.ts'

const config = conf({ ipMasqBackend: 'nftables' })
const one = {
  ...config,
  ipam: { type: 'host-local', ranges: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.2', rangeEnd: '10.9.0.2' }]] },
}
const alone = {
  ...config,
  ipam: { type: 'host-local', ranges: [[{ subnet: '10.7.0.5/32', gateway: '10.7.0.1' }]] },
}

const nodeRoutes = (lab: Lab) => lab.must('ip', 'route', 'show', 'proto', '122').trim()

forEachExecutable((executable) => {
  describe.each([
    ['masquerading', 'nft', 'delete element', one],
    ['route', 'ip', 'route del', alone],
  ] as const)(
    'two removals of one dead at once, and the first to end frees its address',
    (what, tool, line, config) => {
      test.each(['ADD', 'DEL'])(`the ${what} of who has it then stays, though a late %s deletes it`, async (verb) => {
        const lab = await openLab(executable)
        const dead = add(lab, 'a', config)
        lab.must('ip', 'netns', 'del', 'a')
        const held = holdUp(lab, tool, line)
        const late =
          verb === 'ADD'
            ? startPlugin(lab, 'ADD', { id: 'pod-b', netns: lab.netns('b'), conf: config })
            : startPlugin(lab, 'DEL', { id: dead.id, conf: config })
        const letGo = await held()
        const other = add(lab, 'c', config)
        letGo()
        const { status, json } = await late
        expect(verb === 'ADD' ? json.code : status).toBe(verb === 'ADD' ? 100 : 0)
        expect(check(lab, other)).toMatchObject({ status: 0 })
        del(lab, other)
        expect(nodeRoutes(lab)).toBe('')
        expect(leftovers(lab, dead.id, other.id, 'pod-b')).toEqual([])
      })
    },
  )

  test.each(['DEL', 'an ADD that fails'])(
    '%s by another IPAM plugin: the address is given back without rules',
    async (what) => {
      const lab = await openLab(executable)
      // It has one address, and for pod-f it gets in the way.
      const plugin = `#!/bin/sh
      case $CNI_COMMAND in
        ADD) mkdir /run/taken || exit 1
          [ $CNI_CONTAINERID != pod-f ] || ip -n f addr add 10.9.0.2/24 dev eth0
          echo '{"cniVersion":"1.0.0","ips":[{"address":"10.9.0.2/24","gateway":"10.9.0.1"}],"routes":[]}' ;;
        DEL) [ $CNI_CONTAINERID = pod-b ] || rmdir /run/taken ;;
      esac`
      lab.must('mkdir', '/run/plugins')
      writeFileSync(`${lab.root}/run/plugins/single`, plugin, { mode: 0o755 })
      const call = { conf: { ...config, ipam: { type: 'single' } }, path: '/opt/cni/bin:/run/plugins' }
      if (what === 'DEL') add(lab, 'a', call.conf, call)
      const held = holdUp(lab, 'nft', 'delete element')
      const going =
        what === 'DEL'
          ? startPlugin(lab, 'DEL', { ...call, id: 'pod-a', netns: 'a' })
          : startPlugin(lab, 'ADD', { ...call, id: 'pod-f', netns: lab.netns('f') })
      const letGo = await held()
      const next = { ...call, id: 'pod-b', netns: lab.netns('b'), ifname: 'eth0' }
      const early = callPlugin(lab, 'ADD', next)
      letGo()
      expect(await going).toMatchObject({ status: what === 'DEL' ? 0 : 1 })
      const { json } = early.status === 0 ? early : callPlugin(lab, 'ADD', next)
      expect(check(lab, { ...next, ms: 0, result: json }, { path: call.path })).toMatchObject({ status: 0 })
    },
  )

  test('an ADD that fails leaves the bridge to one that has begun meanwhile', async () => {
    const lab = await openLab(executable)
    lab.netns('a')
    lab.must('ip', '-n', 'a', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other')
    const held = holdUp(lab, 'ip', `link del dev ${BRIDGE}`)
    const failing = startPlugin(lab, 'ADD', { id: 'pod-a', netns: 'a', conf: config })
    const letGo = await held()
    const other = { id: 'pod-b', netns: lab.netns('b'), ifname: 'eth0', conf: config }
    const beginning = startPlugin(lab, 'ADD', other)
    await Promise.race([beginning, sleep(1500)])
    letGo()
    expectFault(await failing, { code: 101 })
    const { status, json } = await beginning
    expect(status).toBe(0)
    expect(check(lab, { ...other, result: json, ms: 0 })).toMatchObject({ status: 0 })
  })
})
