/** What is no plain file, or has no end, in the place of a reservation: nobody waits for it with the store locked. */
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { openLab } from './lab.ts'
import { leftovers, marksOf, STORE } from './observe.ts'
import { add, callPlugin, conf, NET } from './plugin.ts'

const FOLDER = `${STORE}/${NET}`
/** In milliseconds: longer than it ever takes; without an end it would be killed. */
const killAfter = 30_000

const ODD = [
  { name: 'a pipe that nobody writes', make: 'mkfifo' },
  { name: 'a pipe that is held open', make: 'mkfifo', isHeld: true },
  {
    name: 'a socket',
    make: "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un($ARGV[0])) or die'",
  },
  { name: 'more than memory may hold', make: 'truncate -s 20G' },
]

forEachExecutable((executable) => {
  test.each(ODD)('$name, as a reservation, stops neither DEL nor GC nor a command', async ({ make, isHeld }) => {
    const lab = await openLab(executable)
    const one = add(lab, 'a')
    lab.must('sh', '-ec', `${make} $0`, `${FOLDER}/10.9.0.77`)
    if (isHeld) lab.background('sh', '-c', `exec sleep 1000 <>${FOLDER}/10.9.0.77`)
    // Then every reservation is read.
    lab.must('rm', '-rf', '/run/pontoon')
    const gone = callPlugin(lab, 'DEL', { id: one.id, netns: one.netns, killAfter })
    expect(gone).toMatchObject({ status: 0 })
    const leases = lab.run(['/opt/cni/bin/pontoon', 'leases'], { killAfter })
    expect(leases).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('10.9.0.77') })
    const valid = { 'cni.dev/valid-attachments': [] }
    expect(callPlugin(lab, 'GC', { conf: { ...conf(), ...valid }, killAfter })).toMatchObject({ status: 0 })
    lab.must('rm', '-f', `${FOLDER}/10.9.0.77`) // else it is looked at here, too
    expect(leftovers(lab, ...marksOf(one))).toEqual([])
  })
})
