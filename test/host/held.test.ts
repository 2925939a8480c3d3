import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { type Attachment, keyOf } from '../../src/core/attachment.ts'
import { type IndexEntry, makerOf, noteAddress, readEntry, writeEntry } from '../../src/host/index-files.ts'
import { sweep, type Victim } from '../../src/host/sweep.ts'
import { attachment } from '../core/seen.ts'
import { broken, folder, useTemporaryFolders } from './relocated.ts'
import { followScripts, IP, NFT, script } from './scripted.ts'

vi.mock('#engine', async () => (await import('./mixed.ts')).engine)
followScripts()
useTemporaryFolders()

const ELEMENT = 'inet cni_plugins_masquerade pods-net1-10.9.0.2/32'
const GUARD = 'bridge pontoon guarded veth1'
const victim: Victim = {
  attachment,
  owner: attachment,
  addresses: ['10.9.0.2'],
  links: ['veth1'],
  elements: [`${ELEMENT} 10.9.0.2`],
  routes: [{ cidr: '10.9.0.2/32', bridge: 'cni0' }],
}
const other = { ...attachment, containerID: 'c2' }
const place = () => ({ storeFolder: join(folder, 'net1'), indexFolder: join(folder, 'index') })
const stored = () => readdirSync(place().storeFolder).sort()
const reserve = (address: string, containerID: string) =>
  writeFileSync(join(place().storeFolder, address), `${containerID}\r\neth0`)

const entryOf = (of: Attachment, addresses: readonly string[]): IndexEntry => ({
  ...{ version: 1, done: true, pid: 1, time: 1, boot: 'b', masquerade: 'none', elements: [], dataDir: folder },
  ...{ netns: '/gone', device: 0, inode: 0, bridge: 'cni0', hostVeth: 'veth1', addresses },
  ...of,
})

/** A store without reservations, and the victim's entry. */
function populate(): void {
  mkdirSync(place().storeFolder)
  mkdirSync(place().indexFolder)
  writeEntry(place().indexFolder, entryOf(attachment, ['10.9.0.2/32']))
}

const links = { argv: IP, dialog: [{ told: 'link del dev veth1\n' }] }
const nft = (...elements: readonly string[]) => {
  const lines = elements.flatMap((words) => ['add', 'delete'].map((verb) => `${verb} element ${words}\n`))
  return { argv: NFT, dialog: [{ told: lines.join('') }] }
}
const masquerading = nft(`${ELEMENT} { 10.9.0.2 }`)
const routes = {
  argv: IP,
  dialog: [
    { told: 'route show table all proto 122\n', prints: ['[{"dst":"10.9.0.2","dev":"cni0"}]\n'] },
    { told: 'route del 10.9.0.2/32 dev cni0 proto 122\n' },
  ],
}

test.each<[name: string, happened: () => void]>([
  ['the store has it reserved', () => reserve('10.9.0.2', 'c2')],
  // In whichever order the folder lists its entry and the victim's.
  ...['c2', 'c3', 'c4', 'c5', 'c6', 'c7'].map((containerID): [string, () => void] => [
    `the index has noted it for ${containerID}`,
    () => writeEntry(place().indexFolder, entryOf({ ...attachment, containerID }, ['10.9.0.2/32'])),
  ]),
])('an address is another’s by now, %s: element and route stay, the link and the entry go', async (_, happened) => {
  populate()
  happened()
  const before = stored()
  script(links, nft('bridge pontoon guarded { veth1 }'))
  expect(await sweep([{ ...victim, elements: [...victim.elements, GUARD] }], place())).toEqual([])
  expect(stored()).toEqual(before)
  expect(readEntry(place().indexFolder, keyOf(attachment))).toBeUndefined()
})

test('a note is enough where there is no store', async () => {
  populate()
  const nowhere = { ...place(), storeFolder: join(folder, 'none') }
  writeEntry(place().indexFolder, entryOf(other, ['10.9.0.2/32']))
  noteAddress(place().indexFolder, '10.9.0.2', keyOf(other))
  script(links)
  expect(await sweep([victim], nowhere)).toEqual([])
  expect(existsSync(nowhere.storeFolder)).toBe(false)
})

test('an address that nobody has is reserved until what stands on it is gone', async () => {
  populate()
  script(links, { ...masquerading, exit: { status: 1, stderr: 'Error: Operation not permitted\n' } }, routes)
  expect(await sweep([victim], place())).toHaveLength(1)
  expect(readFileSync(join(place().storeFolder, '10.9.0.2'), 'utf8')).toBe(
    `${attachment.containerID}\r\n${attachment.ifname}`,
  )
  script(links, masquerading, routes)
  expect(await sweep([victim], place())).toEqual([])
  expect(stored()).toEqual([])
})

test('what two victims have is nobody else’s', async () => {
  populate()
  reserve('10.9.0.2', 'c2')
  writeEntry(place().indexFolder, entryOf(other, ['10.9.0.2/32']))
  script(links, masquerading, routes)
  const second = { ...victim, attachment: other, owner: other, links: [], elements: [], routes: [] }
  expect(await sweep([victim, second], place())).toEqual([])
  expect(stored()).toEqual([])
})

test('it can not be found out whose an address is: the link goes, the rest stays and is told', async () => {
  populate()
  broken.set('lock', 'EACCES')
  script(links)
  expect(await sweep([victim], place())).toHaveLength(1)
  expect(readEntry(place().indexFolder, keyOf(attachment))).toBeDefined()
})

test('what an ADD has claimed since it was looked at is not touched', async () => {
  populate()
  reserve('10.9.0.2', attachment.containerID)
  const maker = makerOf(readEntry(place().indexFolder, keyOf(attachment)))
  writeEntry(place().indexFolder, { ...entryOf(attachment, ['10.9.0.2/32']), time: 2 })
  expect(await sweep([{ ...victim, maker }], place())).toEqual([])
  expect(stored()).toEqual(['10.9.0.2'])
  expect(readEntry(place().indexFolder, keyOf(attachment))).toMatchObject({ time: 2 })
})

test('the rules fail: who has none is freed all the same', async () => {
  populate()
  reserve('10.9.0.2', attachment.containerID)
  reserve('10.9.0.3', 'c2')
  script({ ...masquerading, exit: { status: 1, stderr: 'Error: Operation not permitted\n' } })
  const second = { ...victim, attachment: other, owner: other, addresses: ['10.9.0.3'], elements: [] }
  const bare = { links: [], routes: [] }
  expect(
    await sweep(
      [
        { ...victim, ...bare },
        { ...second, ...bare },
      ],
      place(),
    ),
  ).toHaveLength(1)
  expect(stored()).toEqual(['10.9.0.2'])
})

test('of whom not all could be found out, reservation and entry stay', async () => {
  populate()
  reserve('10.9.0.2', attachment.containerID)
  script(links)
  expect(await sweep([{ ...victim, elements: [], routes: [], isPartial: true }], place())).toEqual([])
  expect(stored()).toEqual(['10.9.0.2'])
  expect(readEntry(place().indexFolder, keyOf(attachment))).toBeDefined()
})
