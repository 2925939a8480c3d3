import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { commentOf } from '../../src/core/attachment.ts'
import { free } from '../../src/host/free.ts'
import { type IndexEntry, makerOf, writeEntry } from '../../src/host/index-files.ts'
import { restore, type Strayed } from '../../src/host/restore.ts'
import type { Victim } from '../../src/host/sweep.ts'
import { attachment } from '../core/seen.ts'
import { folder, useTemporaryFolders } from './relocated.ts'
import { type Expected, followScripts, IP, NFT, script } from './scripted.ts'

vi.mock('#engine', async () => (await import('./mixed.ts')).engine)
followScripts()
useTemporaryFolders()

const SET = 'inet cni_plugins_masquerade pods-net1-10.9.0.0/24'
const MASQUERADING = `${SET} 10.9.0.2`
const GUARD = 'bridge pontoon guarded_ports veth1'
const other = { ...attachment, containerID: 'c2' }
const place = () => ({ storeFolder: join(folder, 'net1'), indexFolder: join(folder, 'index') })
const strayed: Strayed = {
  attachment,
  elements: [MASQUERADING, GUARD],
  routes: [{ cidr: '10.9.0.2/32', bridge: 'cni0' }],
}
const removed = [{ address: '10.9.0.2', device: 'cni0' }]

/** An attachment in the index; one that has an address, in the store, too. */
function begin(of: typeof attachment, parts: Partial<IndexEntry>, address?: string): IndexEntry {
  mkdirSync(place().storeFolder, { recursive: true })
  mkdirSync(place().indexFolder, { recursive: true })
  if (address) writeFileSync(join(place().storeFolder, address), `${of.containerID}\r\neth0`)
  const entry: IndexEntry = {
    ...{ version: 1, done: true, pid: 1, time: 1, boot: 'b', masquerade: 'none', elements: [], dataDir: folder },
    ...{ netns: '/gone', device: 0, inode: 0, bridge: 'cni0', hostVeth: 'veth1', addresses: [] },
    ...of,
    ...parts,
  }
  writeEntry(place().indexFolder, entry)
  return entry
}

const nft = (set: string, of: typeof attachment) => ({
  argv: NFT,
  dialog: [{ told: `add element ${set} comment "${commentOf(of)}" }\n` }],
})

test.each<[name: string, parts: Partial<IndexEntry>, programs: readonly Expected[]]>([
  ['a rule', { elements: [MASQUERADING] }, [nft(`${SET} { 10.9.0.2`, other)]],
  ['a rule in another set, which was not deleted', { elements: [`${SET}_1 10.9.0.2`] }, []],
  ['nothing there', {}, []],
  ['begun, and never comes to its end', { done: false }, []],
  [
    'a route',
    { addresses: ['10.9.0.2/32'] },
    [{ argv: IP, dialog: [{ told: 'route replace 10.9.0.2/32 dev cni0 proto 122\n' }] }],
  ],
  ['a route by another bridge', { addresses: ['10.9.0.2/32'], bridge: 'cni1' }, []],
  ['the address in a subnet with others', { addresses: ['10.9.0.2/24'] }, []],
])('whoever has the address has %s: that is put back, and nothing else', async (_, parts, programs) => {
  begin(other, parts, '10.9.0.2')
  script(...programs)
  await restore([strayed], removed, place())
})

test('an attachment that has begun anew gets back what is no address’s', async () => {
  begin(attachment, { elements: [GUARD] })
  script(nft('bridge pontoon guarded_ports { veth1', attachment))
  await restore([strayed], removed, place())
})

const victim: Victim = { ...strayed, owner: attachment, addresses: ['10.9.0.2'], links: [] }

test.each<[name: string, happened: () => Partial<Victim> | IndexEntry, want: readonly string[]]>([
  ['it has its address still', () => begin(attachment, {}, '10.9.0.2'), []],
  ['another has it', () => begin(other, {}, '10.9.0.2'), [MASQUERADING, GUARD]],
  ['nobody has it', () => begin(attachment, {}), [MASQUERADING, GUARD]],
  ['it has begun anew', () => ({ maker: `0${makerOf(begin(attachment, {}, '10.9.0.2'))}` }), [MASQUERADING, GUARD]],
])('at the end of a removal %s: what may have been deleted of others', async (_, happened, want) => {
  const found: Strayed[] = []
  const parts = happened()
  await free([{ ...victim, ...('maker' in parts ? { maker: parts.maker } : {}) }], place(), [], found)
  expect(found.flatMap(({ elements }) => elements)).toEqual(want)
})
