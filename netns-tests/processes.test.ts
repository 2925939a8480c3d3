import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { add, type Call, callPlugin, dualStack, startPlugin } from './plugin.ts'

/** The programs that a call started, besides the plugin: nsenter that becomes ip is one. */
function started(lab: Lab, verb: string, call: Call): string[] {
  const under = ['strace', '-f', '-qq', '-o', '/run/trace', '-e', 'trace=execve', '-e', 'signal=none']
  const done = callPlugin(lab, verb, { ...call, under })
  expect(done, verb).toMatchObject({ status: 0 })
  expect(lab.processes(), 'what outlives the call').toEqual([])
  const programs = new Map<string, string>()
  for (const line of readFileSync(`${lab.root}/run/trace`, 'utf8').split('\n')) {
    const [, pid, program] = /^(\d+) +execve\("([^"]+)".* = 0$/.exec(line) ?? []
    if (pid !== undefined && program !== undefined) programs.set(pid, program)
  }
  return [...programs.values()].slice(1)
}

forEachExecutable((executable) => {
  test('no verb starts more programs than it needs, and none outlives the call', async () => {
    const lab = await openLab(executable)
    const config = dualStack()
    add(lab, 'first', config)
    lab.netns('a')
    const call = { id: 'pod-a', netns: 'a', conf: config }
    const programs: Record<string, string[]> = {}
    programs.ADD = started(lab, 'ADD', call)
    programs.DEL = started(lab, 'DEL', call)
    programs['DEL of what is gone'] = started(lab, 'DEL', call)
    const prevResult = callPlugin(lab, 'ADD', call).json
    programs.CHECK = started(lab, 'CHECK', { ...call, conf: { ...config, prevResult } })
    programs.STATUS = started(lab, 'STATUS', { ...call, ifname: '' })
    programs.VERSION = started(lab, 'VERSION', call)
    const valid = ['pod-first', 'pod-a'].map((containerID) => ({ containerID, ifname: 'eth0' }))
    programs.GC = started(lab, 'GC', { conf: { ...config, 'cni.dev/valid-attachments': valid } })
    const most: Record<string, number> = {
      ADD: 4,
      DEL: 3,
      'DEL of what is gone': 2,
      CHECK: 4,
      STATUS: 2,
      VERSION: 0,
      GC: 2,
    }
    const tooMany = Object.entries(programs).filter(([verb, list]) => list.length > (most[verb] ?? 0))
    expect(tooMany).toEqual([])
  })

  test('a call that fails leaves no process either', async () => {
    const lab = await openLab(executable)
    lab.must('ip', 'link', 'add', 'br-t', 'type', 'veth', 'peer', 'name', 'other')
    const done = await startPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('a') })
    expect(done.status, done.stdout).not.toBe(0)
    expect(lab.processes()).toEqual([])
  })
})
