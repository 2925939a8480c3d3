import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { keyOf } from '../../src/core/attachment.ts'
import { isFileError } from '../../src/engine/engine.ts'
import {
  type IndexEntry,
  indexFolder,
  listEntries,
  noteAddress,
  readEntry,
  readHolderOf,
  removeEntry,
  removeNote,
  writeEntry,
} from '../../src/host/index-files.ts'
import { broken, moved, useTemporaryFolders } from './relocated.ts'

vi.mock('#engine', async () => (await import('./relocated.ts')).engine)
useTemporaryFolders()

const entry = {
  version: 1,
  network: 'net1',
  containerID: 'c1',
  ifname: 'eth0',
  dataDir: '/var/lib/cni/networks',
  done: true,
  pid: 7,
  addresses: ['10.9.0.2/24'],
  elements: ['inet cni_plugins_masquerade pods-net1-10.9.0.0/24 10.9.0.2'],
  netns: '/run/netns/a',
  device: 4,
  inode: 4026531840,
  hostVeth: 'veth1',
  bridge: 'cni0',
  masquerade: 'nftables',
  boot: 'a boot',
  time: 1,
} as const satisfies Partial<IndexEntry> as IndexEntry
const key = keyOf(entry)
const net1 = indexFolder('/var/lib/cni/networks', 'net1')
const file = () => join(moved(net1), key.slice(0, 32))

test('an entry that is written and read again is the same', () => {
  writeEntry(net1, entry)
  expect(readEntry(net1, key)).toEqual(entry)
  expect(listEntries(net1)).toEqual([entry])
  expect(statSync(file()).mode & 0o777).toBe(0o600)
})

test('an entry is written over the older one, whole', () => {
  writeEntry(net1, { ...entry, addresses: Array<string>(20).fill('10.9.0.2/24') })
  writeEntry(net1, entry)
  expect(readEntry(net1, key)).toEqual(entry)
  expect(readdirSync(moved(net1))).toEqual([key.slice(0, 32)])
})

test('what a crash left of writing is written over', () => {
  mkdirSync(moved(net1), { recursive: true })
  writeFileSync(join(moved(net1), `.${key.slice(0, 32)}`), '{"half')
  expect([readEntry(net1, key), listEntries(net1)]).toEqual([undefined, []])
  writeEntry(net1, entry)
  expect(readdirSync(moved(net1))).toEqual([key.slice(0, 32)])
})

test.each(['create', 'rename'])(
  'when the disk fills up at %s the older entry stays, and no half of the new one',
  (step) => {
    writeEntry(net1, entry)
    broken.set(`${step} ${key.slice(0, 32)}`, 'ENOSPC')
    expect(() => writeEntry(net1, { ...entry, done: false })).toThrow(expect.objectContaining({ code: 'ENOSPC' }))
    expect(readEntry(net1, key)).toEqual(entry)
    expect(readdirSync(moved(net1))).toEqual([key.slice(0, 32)])
  },
)

test('no entry, no folder', () => {
  expect([readEntry(net1, key), listEntries(net1)]).toEqual([undefined, []])
})

test.each<[name: string, text: string]>([
  ['empty', ''],
  ['half', JSON.stringify(entry).slice(0, 40)],
  ['no object', 'null'],
  ['a list', '[]'],
  ['of another version', JSON.stringify({ ...entry, version: 2 })],
  ['without addresses', JSON.stringify({ ...entry, addresses: undefined })],
  ['without a container', JSON.stringify({ ...entry, containerID: 7 })],
  ['without an interface', JSON.stringify({ ...entry, ifname: undefined })],
])('an entry that is %s is damaged, and not listed', (_, text) => {
  writeEntry(net1, entry)
  writeFileSync(file(), text)
  expect([readEntry(net1, key), listEntries(net1)]).toEqual(['damaged', []])
})

test('alien files are no entries', () => {
  writeEntry(net1, entry)
  for (const name of ['README', 'f'.repeat(31), 'F'.repeat(32), 'f'.repeat(33)]) {
    writeFileSync(join(moved(net1), name), JSON.stringify(entry))
  }
  expect(listEntries(net1)).toEqual([entry])
})

test('a removed entry is gone, with what a crash left of it; once more is no error', () => {
  writeEntry(net1, entry)
  writeFileSync(join(moved(net1), `.${key.slice(0, 32)}`), '{"half')
  removeEntry(net1, key)
  removeEntry(net1, key)
  expect(readdirSync(moved(net1))).toEqual([])
})

test('addresses are noted for their attachment, and the notes go with its entry', () => {
  const other = { ...entry, containerID: 'c2' }
  writeEntry(net1, entry)
  writeEntry(net1, other)
  noteAddress(net1, '10.9.0.2', key)
  noteAddress(net1, '10.9.0.3', key)
  noteAddress(net1, '10.9.0.3', keyOf(other))
  expect(['10.9.0.2', '10.9.0.3', '10.9.0.4'].map((address) => readHolderOf(net1, address)?.containerID)).toEqual([
    'c1',
    'c2',
    undefined,
  ])
  expect(listEntries(net1)).toHaveLength(2)
  removeEntry(net1, key, ['10.9.0.2', '10.9.0.3'])
  expect(readdirSync(moved(net1)).sort()).toEqual(['10.9.0.3', keyOf(other).slice(0, 32)].sort())
})

test('a note whose entry is gone or damaged tells nobody', () => {
  writeEntry(net1, entry)
  noteAddress(net1, '10.9.0.2', key)
  writeFileSync(file(), '')
  expect(readHolderOf(net1, '10.9.0.2')).toBeUndefined()
  removeEntry(net1, key)
  expect(readHolderOf(net1, '10.9.0.2')).toBeUndefined()
})

test('an entry that can not be removed is told', () => {
  writeEntry(net1, entry)
  broken.set(`remove ${key.slice(0, 32)}`, 'EACCES')
  expect(() => removeEntry(net1, key)).toThrow(expect.toSatisfy((error) => isFileError(error, 'EACCES')))
  expect(existsSync(file())).toBe(true)
})

test.each([
  ['/var/lib/cni/networks', '/run/pontoon/net1'],
  ['/var/lib/other', '/run/pontoon/net1@%var%lib%other'],
  ['/var/lib/100%', expect.stringMatching(/^\/run\/pontoon\/net1@[0-9a-f]{16}$/)],
  [`/${'x'.repeat(200)}`, expect.stringMatching(/^\/run\/pontoon\/net1@[0-9a-f]{16}$/)],
])('a network with the store in %s has its entries in a folder of its own', (dataDir, want) => {
  expect(indexFolder(dataDir, 'net1')).toEqual(want)
})

test('stores that look alike have different folders', () => {
  const dataDirs = ['/a/b', '/a%b', '/a%%b', '/a/%b', '/a%/b', '/a//b']
  expect(new Set(dataDirs.map((dataDir) => indexFolder(dataDir, 'net1'))).size).toBe(dataDirs.length)
})

test('an empty note, as an ADD leaves it that is killed over it, goes with the address', () => {
  writeEntry(net1, { ...entry, addresses: [] })
  writeFileSync(join(moved(net1), '10.9.0.2'), '')
  removeNote(net1, '10.9.0.2', key)
  expect(existsSync(join(moved(net1), '10.9.0.2'))).toBe(false)
})
