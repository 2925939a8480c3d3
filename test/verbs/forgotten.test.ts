/** What is freed, and what an ADD has taken over while the lock was waited for. */
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { keyOf, labelOf } from '../../src/core/attachment.ts'
import { bootId, type IndexEntry, writeEntry } from '../../src/host/index-files.ts'
import { forgetting, freeForgotten } from '../../src/verbs/forgotten.ts'
import { folder, useTemporaryFolders } from '../host/relocated.ts'
import { files, followScripts, IP, script } from '../host/scripted.ts'
import { netconf } from './netconf.ts'

/** What happens while the lock is waited for, each time. */
let meanwhile: () => void = () => {}

vi.mock('#engine', async () => {
  const { engine: mixed } = await import('../host/mixed.ts')
  const lock: typeof mixed.lock = async (path, options) => {
    meanwhile()
    return mixed.lock(path, options)
  }
  const readIfThere: typeof mixed.readIfThere = (path) => files.get(path) ?? mixed.readIfThere(path)
  return { ...mixed, lock, readIfThere, writeStderr: () => {} }
})
followScripts()
useTemporaryFolders()
beforeEach(() => {
  meanwhile = () => {}
  mkdirSync(join(folder, 'net1'))
})

const network = () => ({
  netconf: netconf({ bridge: 'br9', ipam: {} }),
  storeFolder: join(folder, 'net1'),
  indexFolder: join(folder, 'index'),
})
const owner = (containerID: string) => ({ containerID, ifname: 'eth0' })
const left = () => readdirSync(network().storeFolder).filter((name) => name.startsWith('10.'))

const DAY = 86_400

/** A reservation from long before this boot. */
function leave(address: string, content: string, time = 1e9): void {
  const path = join(network().storeFolder, address)
  writeFileSync(path, content)
  utimesSync(path, time, time)
}

function entry(containerID: string, parts: Partial<IndexEntry>): void {
  const all = { version: 1, network: 'net1', ...owner(containerID), elements: [], addresses: [], ...parts }
  writeEntry(network().indexFolder, all as unknown as IndexEntry)
}

/** The bridge has one port, with this label. */
function port(label: string): void {
  files.set('/proc/sys/net/ipv4/conf/br9', '')
  const link = {
    ifindex: 2,
    ifname: 'veth1',
    flags: ['UP'],
    ifalias: label,
    linkinfo: { info_kind: 'veth' },
    addr_info: [],
  }
  const prints = [`${JSON.stringify([link])}\n`]
  script({ argv: IP, dialog: [{ told: 'addr show master br9\n', prints }] })
}

test('of another boot, or of nobody: freed; its own are told, and stay', async () => {
  leave('10.9.0.2', 'c1\r\neth0')
  leave('10.9.0.3', 'c2\r\neth0')
  leave('10.9.0.4', '')
  expect(await freeForgotten(network(), { spared: owner('c2') })).toEqual({ freed: 2, own: ['10.9.0.3'] })
  expect(left()).toEqual(['10.9.0.3'])
})

test.each<[name: string, note: () => void]>([
  ['noted with the address', () => entry('c1', { addresses: ['10.9.0.2/24'] })],
  ['noted before its address is', () => entry('c1', {})],
])('one that an ADD takes over while the lock is waited for stays: %s', async (_, note) => {
  leave('10.9.0.2', 'c1\r\neth0')
  meanwhile = note
  expect(await freeForgotten(network(), {})).toEqual({ freed: 0, own: [] })
  expect(left()).toEqual(['10.9.0.2'])
})

test('the index is read anew under each lock of a long store', async () => {
  for (let i = 0; i < 501; i++) leave(`10.9.${i >> 8}.${i & 255}`, `p${i}\r\neth0`)
  const last = left().at(-1)
  let locks = 0
  meanwhile = () => {
    if (++locks === 2) entry('late', { addresses: [`${last}/16`] })
  }
  expect((await freeForgotten(network(), {})).freed).toBe(500)
  expect(left()).toHaveLength(1)
})

test.each<[name: string, damage: () => void]>([
  ['lost', () => {}],
  [
    'damaged',
    () => {
      mkdirSync(network().indexFolder)
      writeFileSync(join(network().indexFolder, keyOf({ network: 'net1', ...owner('c1') }).slice(0, 32)), '')
    },
  ],
])('whom a port names keeps its reservation, though its entry is %s; others go', async (_, damage) => {
  leave('10.9.0.2', 'c1\r\neth0')
  leave('10.9.0.3', 'c2\r\neth0')
  damage()
  const living = labelOf({ network: 'net1', ...owner('c1') })
  port(living)
  const isGone = await forgetting(network(), 'bridge')
  expect(['c1', 'c2'].map((id, i) => isGone({ address: `10.9.0.${i + 2}`, owner: owner(id) }))).toEqual([false, true])
  port(living)
  expect((await freeForgotten(network(), {})).freed).toBe(1)
  expect(left()).toEqual(['10.9.0.2'])
})

test('a port of a pod of the same name on another network keeps nothing', async () => {
  leave('10.9.0.2', 'c1\r\neth0')
  port(labelOf({ network: 'net2', ...owner('c1') }))
  expect((await freeForgotten(network(), {})).freed).toBe(1)
})

test.each<[name: string, booted: number, since: () => void, freed: number]>([
  ['the clock is right by then', DAY * 2, () => {}, 1],
  ['the clock stays behind', 0, () => {}, 0],
  ['it was reserved anew meanwhile', DAY * 2, () => leave('10.9.0.2', 'c2\r\neth0'), 0],
])('in the role host-local: one from the future, and %s', async (_, booted, since, freed) => {
  const wanted = { sight: 'none', thorough: true } as const
  leave('10.9.0.2', 'c1\r\neth0', Date.now() / 1000 + DAY)
  expect((await freeForgotten(network(), wanted)).freed).toBe(0)
  files.set('/proc/stat', `btime ${Math.floor(Date.now() / 1000) - 60 + booted}\n`)
  since()
  expect((await freeForgotten(network(), wanted)).freed).toBe(freed)
})

test('in the role host-local: what was looked through while the lock was waited for is left alone', async () => {
  leave('10.9.0.2', 'c1\r\neth0')
  meanwhile = () => writeFileSync(join(network().storeFolder, 'pontoon.boot'), bootId())
  expect((await freeForgotten(network(), { sight: 'none' })).freed).toBe(0)
  expect(left()).toEqual(['10.9.0.2'])
})
