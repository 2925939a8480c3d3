/** `pontoon install --as` that is killed at each of its steps: it can be done again, and undone, and leaves nothing. */
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'

const FOLDER = '/run/plugins'
const STEPS = 'link,linkat,symlink,symlinkat,rename,renameat,renameat2'

/** Names, kinds and targets of all there is, and what each file is. */
const look = (lab: Lab) =>
  lab.must('find', FOLDER, '-mindepth', '1', '-printf', '%P %y %l %i %s %T@\n').split('\n').sort()

const ORIGINAL = [
  { name: 'a file', make: 'echo theirs >bridge' },
  { name: 'a link', make: 'echo theirs >theirs; ln -s theirs bridge' },
  { name: 'nothing', make: 'true' },
]

forEachExecutable((executable) => {
  test.each(ORIGINAL)('where $name has the name', async ({ make }) => {
    const lab = await openLab(executable)
    lab.must('sh', '-ec', `mkdir ${FOLDER}; cd ${FOLDER}; ${make}`)
    // Run from its place it has no need to copy itself.
    expect(lab.run(['/opt/cni/bin/pontoon', 'install', '--dir', FOLDER]).status).toBe(0)
    const run = (...words: readonly string[]) => lab.run([`${FOLDER}/pontoon`, ...words, '--dir', FOLDER])
    const before = look(lab)
    let kills = 0
    for (const next of [
      ['install', '--undo'],
      ['install', '--as', 'bridge'],
    ]) {
      for (let n = 1, isKilled = true; isKilled; n++) {
        const inject = `inject=${STEPS}:signal=KILL:when=${n}`
        const under = ['strace', '-qq', '-o', '/dev/null', '-e', `trace=${STEPS}`, '-e', inject]
        const done = lab.run([...under, `${FOLDER}/pontoon`, 'install', '--as', 'bridge', '--dir', FOLDER])
        isKilled = done.status !== 0
        if (isKilled) kills++
        // It would be taken for dead after a while.
        lab.must('rm', '-rf', `${FOLDER}/.pontoon.installed.lock`)
        expect(run(...next), `killed at step ${n}`).toMatchObject({ status: 0, stderr: '' })
        expect(run('install', '--undo'), `killed at step ${n}`).toMatchObject({ status: 0, stderr: '' })
        const rest = (lines: readonly string[]) => lines.filter((line) => !line.startsWith('.pontoon.installed '))
        expect(rest(look(lab)), `killed at step ${n}, then ${next.join(' ')}`).toEqual(rest(before))
      }
    }
    expect(kills).toBeGreaterThan(3)
  })

  test('no runtime takes the half of a network for one, and no uninstalled one', async () => {
    const lab = await openLab(executable)
    const words = ['install', '--dir', FOLDER, '--no-verify', '--conflist', '50-pods.conflist']
    const networks = () => lab.must('find', '/etc/cni/net.d', '-name', '*.conflist')
    for (const step of ['write', 'rename']) {
      const calls = ['-e', `trace=${step}`, '-e', `inject=${step}:signal=KILL`]
      const drafts = ['.50-pods.conflist', '.50-pods.conflist.draft'].flatMap((name) => [
        '-P',
        `/etc/cni/net.d/${name}`,
      ])
      const under = ['strace', '-qq', '-o', '/dev/null', ...drafts, ...calls]
      expect(lab.run([...under, '/opt/cni/bin/pontoon', ...words]).status, step).toBe(137)
      expect(networks()).toBe('')
      lab.must('rm', '-rf', `${FOLDER}/.pontoon.installed.lock`)
      expect(lab.run(['/opt/cni/bin/pontoon', 'uninstall', '--dir', FOLDER]).status).toBe(0)
      expect(lab.must('find', '/etc/cni/net.d', FOLDER, '-type', 'f')).toBe('')
    }
  })
})
