/** Programs that hang: each call ends by itself, says which one it was, and what it left is removed by the next. */
import { describe, expect, test } from 'vitest'
import { executables } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { leftovers, marksOf, store } from './observe.ts'
import { add, callPlugin, check, conf, del, dualStack, expectFault, startPlugin } from './plugin.ts'
import { allEnded } from './until.ts'

/** Runtimes give a pod's network two minutes or more (kubelet: --runtime-request-timeout, 2 min), then it is killed. */
const killAfter = 120_000
const executable = executables()[0]

/** Puts a script in a tool's place, which sleeps for ever; all it can be asked for it is asked in vain. */
function hang(lab: Lab, tool: string): () => void {
  const path = lab.must('sh', '-c', `readlink -f "$(command -v ${tool})"`).trim()
  lab.must(
    'sh',
    '-ec',
    `printf '#!/bin/sh\\nexec sleep 600\\n' >/run/hang; chmod 755 /run/hang; mount --bind /run/hang ${path}`,
  )
  return () => void lab.must('umount', path)
}

describe.concurrent('a tool hangs', () => {
  test.each(['ip', 'nft'])(
    '%s: ADD ends with code 11 or an error that names it, and DEL cleans up when it works again',
    async (tool) => {
      const lab = await openLab(executable)
      const config = dualStack()
      const living = add(lab, 'other', config)
      const release = hang(lab, tool)
      const done = await startPlugin(lab, 'ADD', {
        id: 'pod-a',
        netns: '/run/netns/other',
        ifname: 'eth1',
        conf: config,
        killAfter,
      })
      expectFault(done, {
        about: new RegExp(`${tool}.*(did not end within|ended before its time)|did not end within`, 's'),
      })
      expect(done.json.code).toBe(11)
      await allEnded(lab)
      release()
      expect(
        callPlugin(lab, 'DEL', { id: 'pod-a', netns: '/run/netns/other', ifname: 'eth1', conf: config }).status,
      ).toBe(0)
      expect(Object.keys(store(lab))).toHaveLength(2)
      expect(check(lab, living).status).toBe(0)
      del(lab, living)
      expect(leftovers(lab, 'pod-a', ...marksOf(living))).toEqual([])
    },
  )

  test.each(['ip', 'nft'])(
    '%s: DEL ends with an error, keeps the address of what it could not remove, and is done when called again',
    async (tool) => {
      const lab = await openLab(executable)
      const one = add(lab, 'a', dualStack())
      const release = hang(lab, tool)
      const done = await startPlugin(lab, 'DEL', { id: one.id, netns: 'a', conf: one.conf, killAfter })
      expectFault(done)
      expect(Object.keys(store(lab))).toHaveLength(2)
      release()
      del(lab, one)
      expect(leftovers(lab, ...marksOf(one))).toEqual([])
    },
  )

  test('an IPAM plugin: ADD ends with code 11 that names it, and leaves no interface', async () => {
    const lab = await openLab(executable)
    lab.must(
      'sh',
      '-ec',
      `printf '#!/bin/sh\\n[ "$CNI_COMMAND" = DEL ] && exit 0\\nexec sleep 600\\n' >/opt/cni/bin/slow; chmod 755 /opt/cni/bin/slow`,
    )
    const config = { ...conf(), ipam: { type: 'slow' } }
    const done = await startPlugin(lab, 'ADD', { id: 'pod-a', netns: lab.netns('a'), conf: config, killAfter })
    expectFault(done, { code: 11, about: /slow hangs in ADD/ })
    expect(leftovers(lab, 'pod-a')).toEqual([])
  })
})
