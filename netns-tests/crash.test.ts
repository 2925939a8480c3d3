import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { leftovers, store } from './observe.ts'
import {
  add,
  addressesOf,
  type Call,
  callPlugin,
  check,
  conf,
  del,
  dualStack,
  expectFault,
  startPlugin,
} from './plugin.ts'
import { allEnded } from './until.ts'

/** How many kills a test makes: by time, and at calls. */
const TIMES = 9
const STEPS = 18
const FEWER = 9
const KILLED = 137
/** Those of all tests, with all executables. */
let kills = 0
afterAll(() => console.log(`crash: ${kills} kills`))

const POD = { id: 'pod-a', netns: 'a', conf: dualStack() }
const MARKS = [
  'pod-a',
  ...Array.from({ length: 60 }, (_, n) => [`10.9.0.${n + 2}`, `fd00:9::${(n + 2).toString(16)}`]).flat(),
]

/** The calls that change something, or start a program: where a kill may hurt. */
const CALLS =
  'openat,open,creat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,write,clone,clone3,vfork,fork'

function expectNothingLeft(lab: Lab, when: string): void {
  expect(leftovers(lab, ...MARKS), when).toEqual([])
}

/** What happens after a kill: each has to lead to a clean state. */
const afterwards: { name: string; recover: (lab: Lab, when: string) => void }[] = [
  {
    name: 'another pod is added, and DEL leaves nothing',
    recover: (lab, when) => {
      const held = Object.entries(store(lab)).filter(([, owner]) => owner.startsWith('pod-a'))
      const another = add(lab, 'b', POD.conf) // code 11 when it waited for the lock of the dead
      expect(addressesOf(another.result).filter((address) => held.some(([taken]) => taken === address))).toEqual([])
      expect(callPlugin(lab, 'DEL', POD), when).toMatchObject({ status: 0 })
      expect(check(lab, another), when).toMatchObject({ status: 0 })
      del(lab, another)
    },
  },
  {
    name: 'DEL leaves nothing, though the namespace is gone',
    recover: (lab, when) => {
      lab.must('ip', 'netns', 'del', 'a')
      expect(callPlugin(lab, 'DEL', { ...POD, netns: '' }), when).toMatchObject({ status: 0 })
      lab.must('ip', 'netns', 'add', 'a')
    },
  },
  {
    name: 'another ADD succeeds, and its DEL leaves nothing',
    recover: (lab, when) => {
      const again = callPlugin(lab, 'ADD', POD)
      // The killed one may just have been done: then this is a second ADD of an attachment that lives.
      if (again.status === 0) {
        expect(callPlugin(lab, 'CHECK', { ...POD, conf: { ...POD.conf, prevResult: again.json } }), when).toMatchObject(
          { status: 0 },
        )
      } else
        expect(lab.run(['ip', '-n', 'a', 'addr', 'show', 'eth0']).stdout, `${when}\n${again.stdout}`).toMatch(
          /10\.9\.0\.\d+\/24/,
        )
      expect(callPlugin(lab, 'DEL', POD), when).toMatchObject({ status: 0 })
    },
  },
]

/** A call of the plugin's: `openat:7`, the seventh of its name. (strace counts each name apart.) */
type Point = string

/** The calls that the plugin makes by itself in one go. */
function callsOf(lab: Lab, verb: string, call: Call = POD): readonly Point[] {
  const under = ['strace', '-qq', '-o', '/run/trace', '-e', `trace=${CALLS}`]
  expect(callPlugin(lab, verb, { ...call, under })).toMatchObject({ status: 0 })
  const seen = new Map<string, number>()
  return [...readFileSync(`${lab.root}/run/trace`, 'utf8').matchAll(/^([a-z0-9]+)\(/gm)].map(([, name = '']) => {
    seen.set(name, (seen.get(name) ?? 0) + 1)
    return `${name}:${seen.get(name)}`
  })
}

function killedAt(point: Point, config: Json = POD.conf): Call {
  const [name, count] = point.split(':')
  const inject = `inject=${name}:signal=KILL:when=${count}`
  return { ...POD, conf: config, under: ['strace', '-qq', '-o', '/dev/null', '-e', `trace=${CALLS}`, '-e', inject] }
}

/** Up to so many of them, evenly spread. */
const spread = (points: readonly Point[], steps = STEPS): readonly Point[] => [
  ...new Set(Array.from({ length: steps }, (_, i) => points[Math.floor((i * points.length) / steps)] as Point)),
]

/** One that has fewer calls than the one that was looked at may have come to its end. */
async function kill(lab: Lab, verb: string, call: Call): Promise<void> {
  const { status } = await startPlugin(lab, verb, call)
  if (status === KILLED) kills++
  await allEnded(lab)
}

const others: { name: string; config: Json }[] = [
  { name: 'with macspoofchk', config: dualStack({ macspoofchk: true }) },
  { name: 'masquerading by iptables', config: dualStack({ ipMasqBackend: 'iptables' }) },
  { name: 'on layer 2 alone', config: { ...conf(), isGateway: false, ipMasq: false, ipam: {} } },
]

forEachExecutable((executable) => {
  describe.each(afterwards)('after an ADD that was killed, $name', ({ recover }) => {
    test('killed after every ninth of its time', async () => {
      const lab = await openLab(executable)
      add(lab, 'other', POD.conf)
      const usual = add(lab, 'a', POD.conf)
      del(lab, usual)
      const other = leftovers(lab, ...MARKS)
      for (let step = 0; step < TIMES; step++) {
        const killAfter = (usual.ms * 1.1 * step) / TIMES
        await kill(lab, 'ADD', { ...POD, killAfter })
        recover(lab, `killed after ${killAfter} ms`)
        expect(leftovers(lab, ...MARKS), `killed after ${killAfter} ms`).toEqual(other)
      }
    })

    test('killed at each call that changes something', async () => {
      const lab = await openLab(executable)
      lab.netns('a')
      const points = callsOf(lab, 'ADD')
      expect(callPlugin(lab, 'DEL', POD)).toMatchObject({ status: 0 })
      for (const n of spread(points)) {
        await kill(lab, 'ADD', killedAt(n))
        recover(lab, `killed at ${n}`)
        expectNothingLeft(lab, `killed at ${n}`)
      }
    })
  })

  test('after a DEL that was killed, another leaves nothing', async () => {
    const lab = await openLab(executable)
    add(lab, 'a', POD.conf)
    const points = callsOf(lab, 'DEL')
    for (const n of spread(points)) {
      expect(callPlugin(lab, 'ADD', POD)).toMatchObject({ status: 0 })
      await kill(lab, 'DEL', killedAt(n))
      expect(callPlugin(lab, 'DEL', POD)).toMatchObject({ status: 0 })
      expectNothingLeft(lab, `killed at ${n}`)
    }
  })

  test('after a DEL that was killed, the same pod can be added again', async () => {
    const lab = await openLab(executable)
    add(lab, 'a', POD.conf)
    const points = callsOf(lab, 'DEL')
    for (const n of spread(points, FEWER)) {
      expect(callPlugin(lab, 'ADD', POD)).toMatchObject({ status: 0 })
      await kill(lab, 'DEL', killedAt(n))
      const again = callPlugin(lab, 'ADD', POD)
      // A DEL that had not come to anything leaves a pod that lives.
      if (again.status !== 0) expectFault(again, { code: 101 })
      expect(callPlugin(lab, 'DEL', POD)).toMatchObject({ status: 0 })
      expectNothingLeft(lab, `killed at ${n}`)
    }
  })

  test.each(others)('$name: after an ADD or a DEL that was killed, a DEL leaves nothing', async ({ config }) => {
    const lab = await openLab(executable)
    lab.netns('a')
    for (const verb of ['ADD', 'DEL']) {
      const points = callsOf(lab, verb, { ...POD, conf: config })
      expect(callPlugin(lab, 'DEL', { ...POD, conf: config })).toMatchObject({ status: 0 })
      for (const n of spread(points, FEWER)) {
        if (verb === 'DEL') expect(callPlugin(lab, 'ADD', { ...POD, conf: config })).toMatchObject({ status: 0 })
        await kill(lab, verb, killedAt(n, config))
        expect(callPlugin(lab, 'DEL', { ...POD, conf: config })).toMatchObject({ status: 0 })
        expectNothingLeft(lab, `${verb} killed at ${n}`)
      }
      expect(callPlugin(lab, 'ADD', { ...POD, conf: config })).toMatchObject({ status: 0 })
    }
  })

  test('after an ADD by host-local that was killed, a DEL leaves nothing that is taken for long', async () => {
    const lab = await openLab(executable)
    const call = { ...POD, exe: 'host-local', netns: lab.netns('a') }
    const points = callsOf(lab, 'ADD', call)
    expect(callPlugin(lab, 'DEL', call)).toMatchObject({ status: 0 })
    for (const n of spread(points, FEWER)) {
      await kill(lab, 'ADD', { ...killedAt(n), exe: 'host-local' })
      expect(callPlugin(lab, 'DEL', call)).toMatchObject({ status: 0 })
      expect(Object.values(store(lab)).filter((owner) => owner !== '')).toEqual([])
    }
  })
})
