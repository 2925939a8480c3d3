/**
 * Every command that a document shows is run, in the situation that the document speaks of, and prints what the
 * document says. What is not run is in NOT_RUN with its reason.
 */
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bare, blocksOf, differenceOf, namesOf, printedBy, scriptOf, shownIn } from './document.ts'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { NOT_RUN, SITUATIONS } from './situations.ts'

const root = join(import.meta.dirname, '..')
const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', 'conf/README.md']
  .concat(readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])))
  .sort()

const isLeftOut = (line: string) => Object.values(NOT_RUN).flat().includes(bare(line))

/** What documents write to beside the folders that are the lab's own. */
const WRITTEN = ['/usr/local/bin', '/usr/share', '/var/log']

/** Where somebody stands who follows a document: a tree with what was built, and with the examples. */
function makeTree(lab: Lab): void {
  for (const folder of WRITTEN) {
    const layers = `/run/over${folder}`
    lab.must('mkdir', '-p', `${layers}/upper`, `${layers}/work`)
    const options = `lowerdir=${folder},upperdir=${layers}/upper,workdir=${layers}/work`
    lab.must('mount', '-t', 'overlay', '-o', options, 'overlay', folder)
  }
  const tree = `${lab.root}/run/tree`
  mkdirSync(`${tree}/dist`, { recursive: true })
  cpSync(join(root, 'conf'), `${tree}/conf`, { recursive: true })
  for (const path of ['dist/pontoon', 'pontoon']) {
    writeFileSync(`${tree}/${path}`, '')
    lab.must('mount', '--bind', '/opt/cni/bin/pontoon', `/run/tree/${path}`)
  }
}

test('all documents with commands are here, and no reason is given for what no document shows', () => {
  const withCommands = DOCUMENTS.filter((name) => shownIn(name, isLeftOut).length > 0)
  expect(Object.keys(SITUATIONS).sort(), 'documents in situations.ts').toEqual(withCommands)
  const lines = new Set(DOCUMENTS.flatMap((name) => blocksOf(name).flatMap((block) => block.lines.map(bare))))
  const reasons = Object.values(NOT_RUN).flat()
  expect(
    reasons.filter((line) => !lines.has(line)),
    'NOT_RUN in situations.ts',
  ).toEqual([])
})

forEachExecutable((executable) => {
  describe.each(Object.entries(SITUATIONS))('%s', (name, { prepare = '', before = {}, status = {} }) => {
    test('its commands do what it says', async () => {
      const lab = await openLab(executable)
      makeTree(lab)
      const shown = shownIn(name, isLeftOut)
      const names = namesOf(shown)
      expect(Object.keys({ ...before, ...status }).filter((one) => !names.includes(one))).toEqual([])
      const script = scriptOf(shown, before)
      const { stdout, stderr } = lab.run(['unshare', '--uts', 'bash'], {
        stdin: `echo node-1 >/proc/sys/kernel/hostname; cd /run/tree; PATH=$PATH:/opt/cni/bin\n${prepare}\n${script}`,
        env: { HOME: '/run', COLUMNS: '200' },
      })
      lab.note(`${script}\n----\n${stdout}${stderr}`)
      const printed = printedBy(stdout)
      const differing = shown.flatMap(({ command, prints, of = 1 }, i) => {
        const { status: ended = 'none' } = printed[i] ?? {}
        const lines = printed.slice(i + 1 - of, i + 1).flatMap((one) => one.lines)
        const expected = String(status[names[i] ?? ''] ?? 0)
        const difference = prints === undefined ? '' : differenceOf(prints, lines)
        if (difference === '' && ended === expected) return []
        return [`${command}\nstatus ${ended}, expected ${expected}\n${difference}\n${lines.join('\n')}`]
      })
      expect(differing).toEqual([])
    })
  })
})
