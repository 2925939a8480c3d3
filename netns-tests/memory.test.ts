/** A hundred plugin processes at once in a control group of 512 MiB: none of them is killed. */
import { expect, onTestFinished, test } from 'vitest'
import { executables } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { leftovers } from './observe.ts'
import { dualStack, startPatiently } from './plugin.ts'

const LIMIT = 512 << 20
const COUNT = 100
const executable = executables().find(({ name }) => name === 'pontoon')

/** Where a new group of the memory controller is in the lab; undefined where nobody is let use one. */
function makeGroup(lab: Lab): { folder: string; peak: string; events: string } | undefined {
  for (const [type, limit, peak, events] of [
    ['cgroup -o memory', 'memory.limit_in_bytes', 'memory.max_usage_in_bytes', 'memory.oom_control'],
    ['cgroup2', 'memory.max', 'memory.peak', 'memory.events'],
  ] as const) {
    const folder = `/run/cg/pontoon-test-${process.pid}`
    const make = `mkdir -p /run/cg; mount -t ${type} cgroup /run/cg; mkdir ${folder}; echo ${LIMIT} >${folder}/${limit}`
    if (lab.run(['sh', '-ec', make]).status !== 0) continue
    onTestFinished(() => void lab.run(['rmdir', folder]))
    return { folder, peak: `${folder}/${peak}`, events: `${folder}/${events}` }
  }
  return undefined
}

test.runIf(executable)('100 ADDs at once, and 100 DELs, with 512 MiB for all of them', async () => {
  const lab = await openLab(executable)
  lab.must('sh', '-ec', `for i in $(seq 0 ${COUNT - 1}); do ip netns add n$i; done`)
  const group = makeGroup(lab)
  // Without a group each process is held to its share of address space by itself.
  const under = group
    ? ['sh', '-c', `echo $$ >${group.folder}/cgroup.procs && exec "$0"`]
    : ['prlimit', `--as=${Math.floor(LIMIT / COUNT) * 4}`]
  const config = dualStack()
  for (const verb of ['ADD', 'DEL']) {
    const done = await Promise.all(
      Array.from({ length: COUNT }, (_, i) =>
        startPatiently(lab, verb, { id: `pod-n${i}`, netns: `n${i}`, conf: config, under }),
      ),
    )
    const failed = done.filter(({ status }) => status !== 0)
    expect([...new Set(failed.map(({ stdout, stderr }) => stdout + stderr))], verb).toEqual([])
  }
  if (group) {
    console.log(`memory: at most ${Math.round(Number(lab.must('cat', group.peak)) / (1 << 20))} MiB of ${LIMIT >> 20}`)
    expect(lab.must('cat', group.events)).toMatch(/^oom_kill 0$/m)
  } else console.log('memory: no control group is to be had here; held by prlimit --as')
  expect(leftovers(lab, 'pod-n')).toEqual([])
})
