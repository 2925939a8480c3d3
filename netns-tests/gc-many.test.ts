/** gc after a night in which hundreds of pods went without a word: whole, in order, and one sees how far it is. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { keyOf } from '../src/core/attachment.ts'
import { putConf, toolJson } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { store } from './observe.ts'
import { add, conf, NET } from './plugin.ts'

const config = conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/16' }]] } })
const MANY = 2000

/** What pods of another boot leave: entry, note and reservation. */
function leaveMany(lab: Lab): void {
  const [index, folder] = [`${lab.root}/run/pontoon/${NET}`, `${lab.root}/var/lib/cni/networks/${NET}`]
  const [name = ''] = readdirSync(index).filter((file) => /^[0-9a-f]{32}$/.test(file))
  const living: Json = JSON.parse(readFileSync(`${index}/${name}`, 'utf8'))
  mkdirSync(index, { recursive: true })
  for (let i = 0; i < MANY; i++) {
    const attachment = { network: NET, containerID: `gone-${i}`, ifname: 'eth0' }
    const address = `10.9.${1 + (i >> 8)}.${i & 255}`
    const key = keyOf(attachment).slice(0, 32)
    const entry = {
      ...living,
      ...attachment,
      addresses: [`${address}/16`],
      elements: [],
      netns: '/run/netns/gone',
      hostVeth: `gone${i}`,
      inode: 1,
    }
    writeFileSync(`${index}/${key}`, JSON.stringify(entry))
    writeFileSync(`${folder}/${address}`, `gone-${i}\r\neth0`)
  }
}

forEachExecutable((executable) => {
  test('hundreds of dead pods go, the living one stays, and the terminal shows how far it is', async () => {
    const lab = await openLab(executable)
    putConf(lab, config)
    add(lab, 'a', config)
    leaveMany(lab)
    const [{ items }] = toolJson(lab, 'gc').networks
    expect(items).toHaveLength(MANY)
    const listed = items.map(({ addresses }: Json) => addresses[0])
    expect(listed.slice(0, 3)).toEqual(['10.9.1.0', '10.9.1.1', '10.9.1.2'])
    expect(listed.at(-1)).toBe(`10.9.${1 + ((MANY - 1) >> 8)}.${(MANY - 1) & 255}`)
    // Each removal takes half a millisecond, on the fastest machine too: so it does not end before somebody would look.
    const slow = 'strace -f -qq -o /dev/null -e trace=unlink,unlinkat -e inject=unlink,unlinkat:delay_exit=500'
    const shown = lab.must('script', '-qec', `${slow} /opt/cni/bin/pontoon gc --apply >/run/out`, '/dev/null')
    expect(shown).toMatch(new RegExp(`${NET}: \\d+ of ${MANY} attachments are removed`))
    expect(readFileSync(`${lab.root}/run/out`, 'utf8')).toContain(`removed: ${MANY} attachments`)
    expect(Object.keys(store(lab))).toEqual(['10.9.0.2'])
    expect(readdirSync(`${lab.root}/run/pontoon/${NET}`).filter((file) => /^[0-9a-f]{32}$/.test(file))).toHaveLength(1)
  })
})
