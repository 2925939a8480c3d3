/** What an ADD has noted of itself when it lets the lock go: all that it holds, or another frees it as forgotten. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { hostVethOf, keyOf } from '../../src/core/attachment.ts'
import { bootId, type IndexEntry, readEntry, writeEntry } from '../../src/host/index-files.ts'
import type { Call } from '../../src/verbs/call.ts'
import { claim, parseWish } from '../../src/verbs/claim.ts'
import { folder, useTemporaryFolders } from '../host/relocated.ts'
import { netconf } from './netconf.ts'

vi.mock('#engine', async () => (await import('../host/relocated.ts')).engine)
useTemporaryFolders()

const attachment = { network: 'net1', containerID: 'c1', ifname: 'eth0', pod: undefined }
const sandbox = { path: '/run/netns/c1', device: 1, inode: 2 } as unknown as Parameters<typeof claim>[2]

function callOf(ranges: readonly string[]): Call {
  const key = keyOf(attachment)
  return {
    netconf: netconf({ bridge: 'br9', ipam: { subnet: undefined, ranges: ranges.map((subnet) => [{ subnet }]) } }),
    storeFolder: join(folder, 'net1'),
    indexFolder: join(folder, 'index'),
    attachment,
    key,
    owner: { containerID: 'c1', ifname: 'eth0' },
    hostVeth: hostVethOf(key),
  } as unknown as Call
}

function former(addresses: readonly string[], done: boolean): void {
  const rest = { elements: [], netns: '/gone', device: 0, inode: 0, masquerade: 'none', bridge: 'br9', dataDir: '' }
  const entry = {
    version: 1,
    ...attachment,
    ...rest,
    done,
    addresses,
    hostVeth: 'vethgone',
    boot: bootId(),
    pid: 0,
    time: 0,
  }
  writeEntry(join(folder, 'index'), entry as unknown as IndexEntry)
}

const ONE = ['10.9.0.0/24']
const TWO = [...ONE, '10.8.0.0/24']

test.each<[name: string, ranges: string[], left: string[], note: (() => void) | undefined, want: string[]]>([
  ['nothing: a new one', ONE, [], undefined, ['10.9.0.2/24']],
  ['its reservation, from before the boot', ONE, ['10.9.0.7'], undefined, ['10.9.0.7/24']],
  ['one of two reservations', TWO, ['10.8.0.7'], undefined, ['10.9.0.2/24', '10.8.0.7/24']],
  ['reservation and entry', ONE, ['10.9.0.7'], () => former(['10.9.0.7/24'], true), ['10.9.0.7/24']],
  ['a reservation that its ADD had not come to note', ONE, ['10.9.0.7'], () => former([], false), ['10.9.0.7/24']],
  ['an entry, and no reservation', ONE, [], () => former(['10.9.0.7/24'], true), ['10.9.0.2/24']],
])('a former ADD has left %s: the entry names what is held', async (_, ranges, left, note, want) => {
  const call = callOf(ranges)
  mkdirSync(call.storeFolder)
  for (const address of left) writeFileSync(join(call.storeFolder, address), 'c1\r\neth0')
  note?.()
  const { entry } = await claim(call, parseWish(call.netconf, []), sandbox, 'br9')
  expect(entry.addresses).toEqual(want)
  expect(readEntry(call.indexFolder, call.key)).toEqual(JSON.parse(JSON.stringify(entry)))
  for (const cidr of want) {
    expect(readFileSync(join(call.storeFolder, cidr.slice(0, -'/24'.length)), 'utf8')).toBe('c1\r\neth0')
  }
})
