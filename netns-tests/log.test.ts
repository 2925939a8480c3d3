/** The log of calls: one line for each, also of many at once; off by default, and never a reason to fail. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { add, callPlugin, conf, del, startPlugin } from './plugin.ts'

const PATH = '/run/pontoon.jsonl'
const logged = (lab: Lab, path = PATH): Json[] =>
  readFileSync(lab.root + path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

forEachExecutable((executable) => {
  describe('the log', () => {
    test('has what each call was and became, with the pod and the trace it is part of', async () => {
      const lab = await openLab(executable)
      const config = conf({ log: PATH })
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const args = 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web'
      const one = add(lab, 'a', config, { args, env: { TRACEPARENT: traceparent } })
      callPlugin(lab, 'ADD', { id: 'pod-a', netns: 'a', conf: config })
      del(lab, one)
      expect(logged(lab)).toEqual([
        {
          time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          verb: 'ADD',
          network: 't',
          containerID: 'pod-a',
          ifname: 'eth0',
          netns: '/run/netns/a',
          pod: 'shop/web',
          ms: expect.any(Number),
          outcome: 'ok',
          traceparent,
          pid: expect.any(Number),
        },
        expect.objectContaining({ verb: 'ADD', outcome: 'failed', code: 101, msg: expect.stringContaining('exists') }),
        expect.objectContaining({ verb: 'DEL', outcome: 'ok' }),
      ])
      expect(statSync(lab.root + PATH).mode & 0o777).toBe(0o600)
    })

    test('PONTOON_LOG names another one; without either there is none', async () => {
      const lab = await openLab(executable)
      add(lab, 'a', conf({ log: PATH }), { env: { PONTOON_LOG: '/run/other' } })
      add(lab, 'b')
      expect(existsSync(lab.root + PATH)).toBe(false)
      expect(logged(lab, '/run/other')).toMatchObject([{ containerID: 'pod-a' }])
    })

    test('that can not be written fails nothing, and says so on stderr', async () => {
      const lab = await openLab(executable)
      const done = callPlugin(lab, 'ADD', { id: 'a', netns: lab.netns('a'), conf: conf({ log: '/nowhere/log' }) })
      expect(done).toMatchObject({ status: 0, json: { cniVersion: '1.1.0' } })
      expect(done.stderr).toContain('/nowhere/log')
    })

    test('PONTOON_LOG that names no place is told on stderr, and `log` in the configuration is refused', async () => {
      const lab = await openLab(executable)
      const env = { PONTOON_LOG: 'relative.jsonl' }
      const one = callPlugin(lab, 'ADD', { id: 'a', netns: lab.netns('a'), conf: conf({ log: PATH }), env })
      expect(one).toMatchObject({ status: 0, stderr: expect.stringMatching(/PONTOON_LOG is neither .* nor "journal"/) })
      expect(existsSync(lab.root + PATH)).toBe(false)
      const two = callPlugin(lab, 'ADD', { id: 'b', netns: lab.netns('b'), conf: conf({ log: 'relative.jsonl' }) })
      expect(two.json).toMatchObject({ code: 7, msg: expect.stringContaining('or "journal"') })
    })

    test('of what is no configuration at all, too; and lines of many at once stay whole', async () => {
      const lab = await openLab(executable)
      const env = { PONTOON_LOG: PATH }
      callPlugin(lab, 'ADD', { id: 'a', netns: lab.netns('a'), stdin: '{', env })
      await Promise.all(Array.from({ length: 20 }, (_, i) => startPlugin(lab, 'STATUS', { id: `s${i}`, env })))
      const lines = logged(lab)
      expect(lines[0]).toMatchObject({ outcome: 'failed', code: 6 })
      expect(lines).toHaveLength(21)
    })
  })
})
