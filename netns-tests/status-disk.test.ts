/** STATUS on disks that are full, or nearly: it tries to write, and leaves nothing. */
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { files, STORE, snapshot } from './observe.ts'
import { add, callPlugin, conf, expectFault, startPlugin } from './plugin.ts'

const FOLDERS = [`${STORE}/t`, '/run/pontoon/t']
const call = { conf: conf(), ifname: '' }
const fillers = [
  { name: 'no block is left', options: 'size=64k', fill: 'dd if=/dev/zero of=$0/filler bs=4k || true' },
  {
    name: 'no inode is left',
    options: 'nr_inodes=8',
    fill: 'for i in 1 2 3 4 5 6 7 8; do touch $0/filler$i; done || true',
  },
]
/** What a STATUS may leave when it is killed. */
const probes = (lab: Lab) =>
  FOLDERS.flatMap((folder) => Object.keys(files(lab, folder)).filter((path) => path.includes('/.')))

forEachExecutable((executable) => {
  describe.each(FOLDERS)('in %s', (folder) => {
    test.each(fillers)('$name: code 50, and nothing is changed; with room it is ready', async ({ options, fill }) => {
      const lab = await openLab(executable)
      lab.must('sh', '-ec', `mkdir -p ${folder}; mount -t tmpfs -o ${options} t ${folder}`)
      expect(callPlugin(lab, 'STATUS', call)).toMatchObject({ status: 0, stdout: '' })
      lab.must('sh', '-c', fill, folder)
      const before = snapshot(lab)
      expectFault(callPlugin(lab, 'STATUS', call), { code: 50, about: new RegExp(`${folder}.*ENOSPC`, 's') })
      expect(snapshot(lab)).toEqual(before)
      lab.must('sh', '-c', `rm ${folder}/filler*`)
      expect(callPlugin(lab, 'STATUS', call)).toMatchObject({ status: 0, stdout: '' })
      expect(Object.keys(files(lab, folder))).toEqual([`${folder}/`])
    })
  })

  test('the role host-local tells it, too', async () => {
    const lab = await openLab(executable)
    lab.must('sh', '-ec', `mkdir -p ${STORE}/t; mount -t tmpfs -o nr_inodes=1 t ${STORE}/t`)
    expectFault(callPlugin(lab, 'STATUS', { ...call, exe: 'host-local' }), { code: 50, about: /ENOSPC/ })
  })

  test('one that was killed is no matter to anybody, and the next clears up after it', async () => {
    const lab = await openLab(executable)
    add(lab, 'a')
    const inject = 'inject=unlink,unlinkat:signal=KILL:when=1'
    const under = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=unlink,unlinkat', '-e', inject]
    callPlugin(lab, 'STATUS', { ...call, under })
    expect(probes(lab)).toHaveLength(1)
    const other = add(lab, 'b')
    expect(other.result.ips[0].address).toBe('10.9.0.3/24')
    const list = {
      'cni.dev/valid-attachments': ['a', 'b'].map((name) => ({ containerID: `pod-${name}`, ifname: 'eth0' })),
    }
    expect(callPlugin(lab, 'GC', { ...call, conf: { ...conf(), ...list } })).toMatchObject({ status: 0 })
    expect(callPlugin(lab, 'STATUS', call)).toMatchObject({ status: 0 })
    expect(probes(lab)).toEqual([])
  })

  test('twenty at once are ready, and leave nothing', async () => {
    const lab = await openLab(executable)
    add(lab, 'a')
    const all = await Promise.all(Array.from({ length: 20 }, () => startPlugin(lab, 'STATUS', call)))
    for (const { status, stdout } of all) expect(status, stdout).toBe(0)
    expect(probes(lab)).toEqual([])
  })
})
