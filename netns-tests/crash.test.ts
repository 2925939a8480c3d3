import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { leftovers } from './observe.ts'
import { add, type Call, callPlugin, del, dualStack, startPlugin } from './plugin.ts'

const STEPS = 40
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

async function childrenEnded(lab: Lab): Promise<void> {
  for (let tries = 0; tries < 100 && lab.processes().length > 0; tries++) await sleep(20)
  expect(lab.processes()).toEqual([])
}

/** What happens after a kill: each has to lead to a clean state. */
const afterwards: { name: string; recover: (lab: Lab, when: string) => void }[] = [
  {
    name: 'DEL leaves nothing',
    recover: (lab, when) => expect(callPlugin(lab, 'DEL', POD), when).toMatchObject({ status: 0 }),
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

/** How many such calls the plugin makes by itself in one go. */
function countCalls(lab: Lab, verb: string): number {
  const under = ['strace', '-qq', '-o', '/run/trace', '-e', `trace=${CALLS}`]
  expect(callPlugin(lab, verb, { ...POD, under })).toMatchObject({ status: 0 })
  return readFileSync(`${lab.root}/run/trace`, 'utf8')
    .split('\n')
    .filter((line) => line.includes('(')).length
}

const killedAt = (n: number): Call => ({
  ...POD,
  under: ['strace', '-qq', '-o', '/dev/null', '-e', `trace=${CALLS}`, '-e', `inject=${CALLS}:signal=KILL:when=${n}`],
})

/** Up to STEPS numbers from 1 to the total, evenly spread. */
const spread = (total: number) => [
  ...new Set(Array.from({ length: STEPS }, (_, i) => 1 + Math.floor((i * total) / STEPS))),
]

forEachExecutable((executable) => {
  describe.each(afterwards)('after an ADD that was killed, $name', ({ recover }) => {
    test('killed after every fortieth of its time', async () => {
      const lab = await openLab(executable)
      add(lab, 'other', POD.conf)
      const usual = add(lab, 'a', POD.conf)
      del(lab, usual)
      const other = leftovers(lab, ...MARKS)
      for (let step = 0; step < STEPS; step++) {
        const killAfter = (usual.ms * 1.1 * step) / STEPS
        await startPlugin(lab, 'ADD', { ...POD, killAfter })
        recover(lab, `killed after ${killAfter} ms`)
        expect(leftovers(lab, ...MARKS), `killed after ${killAfter} ms`).toEqual(other)
      }
    })

    test('killed at each call that changes something', async () => {
      const lab = await openLab(executable)
      lab.netns('a')
      const total = countCalls(lab, 'ADD')
      expect(callPlugin(lab, 'DEL', POD)).toMatchObject({ status: 0 })
      for (const n of spread(total)) {
        await startPlugin(lab, 'ADD', killedAt(n))
        await childrenEnded(lab)
        recover(lab, `killed at call ${n} of ${total}`)
        expectNothingLeft(lab, `killed at call ${n} of ${total}`)
      }
    })
  })

  test('after a DEL that was killed, another leaves nothing', async () => {
    const lab = await openLab(executable)
    add(lab, 'a', POD.conf)
    const total = countCalls(lab, 'DEL')
    for (const n of spread(total)) {
      expect(callPlugin(lab, 'ADD', POD)).toMatchObject({ status: 0 })
      await startPlugin(lab, 'DEL', killedAt(n))
      await childrenEnded(lab)
      expect(callPlugin(lab, 'DEL', POD)).toMatchObject({ status: 0 })
      expectNothingLeft(lab, `killed at call ${n} of ${total}`)
    }
  })
})
