import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Candidate, matchRequested } from '../../src/core/allocate.ts'
import { CODE } from '../../src/core/fault.ts'
import { formatIp } from '../../src/core/ip.ts'
import { parseRangeSets, type RangeText } from '../../src/core/ranges.ts'
import { LockTimeout } from '../../src/engine/engine.ts'
import {
  asFault,
  isOwner,
  type LivingHolder,
  listAddresses,
  lockStore,
  readBootNote,
  readLeases,
  readOwner,
  release,
  releaseAlien,
  reserve,
  reservedAt,
  writeBootNote,
} from '../../src/host/store.ts'
import { ip } from '../core/seen.ts'
import { broken, folder, moved, useTemporaryFolders } from './relocated.ts'

vi.mock('#engine', async () => (await import('./relocated.ts')).engine)
useTemporaryFolders()

const owner = { containerID: 'c1', ifname: 'eth0' }
const tiny: RangeText = { subnet: '10.9.0.0/29' }
const never = () => expect.fail('there was nothing to do')
const nobody = () => undefined
const put = (name: string, content: string) => writeFileSync(join(folder, name), content)
const content = (name: string) => readFileSync(join(folder, name), 'utf8')
const names = () =>
  readdirSync(folder)
    .filter((name) => name !== 'run')
    .sort()

interface Options {
  asked?: string[]
  by?: typeof owner
  living?: LivingHolder
}

/** Reserves one address of each set, as ADD does. */
async function take(ranges: RangeText[][], { asked = [], by = owner, living = nobody }: Options = {}) {
  const sets = parseRangeSets(ranges)
  const wanted: readonly (Candidate | undefined)[] = matchRequested(sets, asked.map(ip))
  const taken = await lockStore(folder, true, (store) => reserve(store, sets, wanted, by, { livingHolder: living }))
  return taken?.map((candidate) => formatIp(candidate.ip))
}

/** Makes a file as old as this. */
function age(name: string, milliseconds: number): void {
  const time = (Date.now() - milliseconds) / 1000
  utimesSync(join(folder, name), time, time)
}

describe('reserve', () => {
  test('the file is what the reference writes: container, CR LF, interface', async () => {
    expect(await take([[tiny]])).toEqual(['10.9.0.2'])
    expect(content('10.9.0.2')).toBe('c1\r\neth0')
    expect(content('last_reserved_ip.0')).toBe('10.9.0.2')
    expect(statSync(join(folder, '10.9.0.2')).mode & 0o777).toBe(0o600)
    expect(names()).toEqual(['10.9.0.2', 'last_reserved_ip.0'])
  })

  test('one address of each set, with a hint for each', async () => {
    expect(await take([[tiny], [{ subnet: 'fd00:9::/64' }]])).toEqual(['10.9.0.2', 'fd00:9::2'])
    expect(names()).toEqual(['10.9.0.2', 'fd00:9::2', 'last_reserved_ip.0', 'last_reserved_ip.1'])
    expect(content('last_reserved_ip.1')).toBe('fd00:9::2')
  })

  test('round robin: an address that was freed rests', async () => {
    await take([[tiny]])
    await lockStore(folder, false, (store) => release(store, '10.9.0.2', owner))
    expect(await take([[tiny]])).toEqual(['10.9.0.3'])
  })

  test('what is taken is passed over, whoever took it', async () => {
    put('10.9.0.2', 'c7\r\neth0')
    put('10.9.0.3', 'c8')
    expect(await take([[tiny]])).toEqual(['10.9.0.4'])
  })

  test('a large range that is nearly full is listed, not tried address by address', async () => {
    for (let i = 2; i < 250; i++) put(`10.9.0.${i}`, 'c7\r\neth0')
    broken.set('create 10.9.0.100', 'EIO')
    expect(await take([[{ subnet: '10.9.0.0/24' }]])).toEqual(['10.9.0.250'])
  })

  test.each(['', 'garbage', '10.9.0.999', '999', '10.9.0.2/24', '\0\0\0\0', '192.0.2.1', 'fd00::1', '10.9.0.3\n'])(
    'the hint %j is no obstacle',
    async (hint) => {
      put('last_reserved_ip.0', hint)
      expect(await take([[tiny]])).toEqual([hint.startsWith('10.9.0.3') ? '10.9.0.4' : '10.9.0.2'])
    },
  )

  test('a hint that is a folder is no obstacle', async () => {
    mkdirSync(join(folder, 'last_reserved_ip.0'))
    expect(await take([[tiny]])).toEqual(['10.9.0.2'])
  })

  test('an address that is a folder is passed over', async () => {
    mkdirSync(join(folder, '10.9.0.2'))
    expect(await take([[tiny]])).toEqual(['10.9.0.3'])
  })

  test('a hint that can not be written costs nothing', async () => {
    broken.set('overwrite last_reserved_ip.0', 'ENOSPC')
    expect(await take([[tiny]])).toEqual(['10.9.0.2'])
  })

  test('an empty file that has aged was left by a crash: it is healed', async () => {
    put('10.9.0.2', '')
    age('10.9.0.2', 31_000)
    expect(await take([[tiny]])).toEqual(['10.9.0.2'])
    expect(content('10.9.0.2')).toBe('c1\r\neth0')
  })

  test('an empty file whose time is in the future is healed too, once it is far enough', async () => {
    put('10.9.0.2', '')
    age('10.9.0.2', -3_600_000)
    expect(await take([[tiny]])).toEqual(['10.9.0.2'])
  })

  test('an empty file that is young belongs to a writer between its two steps', async () => {
    vi.useFakeTimers({ toFake: ['Date'] }) // it stays young
    onTestFinished(() => void vi.useRealTimers())
    put('10.9.0.2', '')
    age('10.9.0.2', 29_000)
    expect(await take([[tiny]])).toEqual(['10.9.0.3'])
    expect(content('10.9.0.2')).toBe('')
  })

  test('a file that says something alien is taken, however old', async () => {
    put('10.9.0.2', '???')
    age('10.9.0.2', 3_600_000)
    expect(await take([[tiny]])).toEqual(['10.9.0.3'])
  })

  test('an exhausted set is told, and what the others gave is given back', async () => {
    for (const i of [2, 3, 4, 5, 6]) put(`10.9.0.${i}`, 'c7\r\neth0')
    await expect(take([[{ subnet: '10.8.0.0/24' }], [tiny]])).rejects.toThrow(
      expect.objectContaining({
        code: CODE.exhausted,
        message: 'no free address in range set 1 (10.9.0.1-10.9.0.6)',
        details: `every address of 10.9.0.1-10.9.0.6 is reserved in ${folder}; remove pods, or give range set 1 more`,
      }),
    )
    expect(listAddresses(folder)).not.toContain('10.8.0.2')
  })
})

describe('the store was cleared while pods live', () => {
  const c7 = { containerID: 'c7', ifname: 'eth0' }
  const living: LivingHolder = (address) => (address === '10.9.0.2' ? c7 : undefined)

  test('what a living one has is put back, and not given out', async () => {
    expect(await take([[tiny]], { living })).toEqual(['10.9.0.3'])
    expect(content('10.9.0.2')).toBe('c7\r\neth0')
  })

  test('also when it is asked for', async () => {
    await expect(take([[tiny]], { asked: ['10.9.0.2'], living })).rejects.toThrow(
      expect.objectContaining({
        code: CODE.conflict,
        details: `it is reserved by container c7, interface eth0 in ${folder}`,
      }),
    )
    expect(content('10.9.0.2')).toBe('c7\r\neth0')
  })

  test('its owner gets it', async () => {
    expect(await take([[tiny]], { asked: ['10.9.0.2'], by: c7, living })).toEqual(['10.9.0.2'])
  })
})

describe('an address that was asked for', () => {
  test('is reserved', async () => {
    expect(await take([[tiny]], { asked: ['10.9.0.5'] })).toEqual(['10.9.0.5'])
    expect(content('last_reserved_ip.0')).toBe('10.9.0.5')
  })

  test('is given again to the one who has it', async () => {
    put('10.9.0.5', 'c1\r\neth0')
    expect(await take([[tiny]], { asked: ['10.9.0.5'] })).toEqual(['10.9.0.5'])
  })

  test('is given again to the container of a file of the oldest format', async () => {
    put('10.9.0.5', 'c1')
    expect(await take([[tiny]], { asked: ['10.9.0.5'] })).toEqual(['10.9.0.5'])
  })

  test.each([
    ['c7\r\neth1', 'container c7, interface eth1'],
    ['???', 'an unknown owner'],
  ])('is refused when somebody has it: %j', async (text, who) => {
    put('10.9.0.5', text)
    await expect(take([[tiny]], { asked: ['10.9.0.5'] })).rejects.toThrow(
      expect.objectContaining({
        code: CODE.conflict,
        message: 'address 10.9.0.5 is taken',
        details: `it is reserved by ${who} in ${folder}`,
      }),
    )
    expect(content('10.9.0.5')).toBe(text)
  })
})

describe('owners and leases', () => {
  test.each<[text: string, want: object | undefined]>([
    ['c1\r\neth0', owner],
    ['c1\neth0', owner],
    ['c1\r\neth0\r\n', owner],
    ['  c1\r\neth0  ', owner],
    ['c1', { containerID: 'c1', ifname: '' }],
    ['c1\r\n', { containerID: 'c1', ifname: '' }],
    ['', undefined],
    ['\r\n', undefined],
    ['c1\r\neth0\r\nmore', undefined],
    ['../../etc', undefined],
    ['c 1\r\neth0', undefined],
    ['\0\0\0\0', undefined],
  ])('%j', (text, want) => {
    put('10.9.0.2', text)
    expect(readOwner(folder, '10.9.0.2')).toEqual(want)
  })

  test('there is none without a file, and none in a folder', () => {
    mkdirSync(join(folder, '10.9.0.3'))
    expect([readOwner(folder, '10.9.0.2'), readOwner(folder, '10.9.0.3')]).toEqual([undefined, undefined])
  })

  test('only addresses are leases: locks, hints and alien files are not', () => {
    for (const name of ['last_reserved_ip.0', 'lock', '.10.9.0.7', '10.9.0.8.temp', 'notes.txt', 'README'])
      put(name, 'c1')
    mkdirSync(join(folder, 'lock.lock'))
    put('10.9.0.2', 'c1\r\neth0')
    put('fd00:9::2', 'c2\r\neth0')
    put('10.9.0.3', '')
    expect(readLeases(folder).toSorted((a, b) => (a.address < b.address ? -1 : 1))).toEqual([
      { address: '10.9.0.2', owner },
      { address: '10.9.0.3', owner: undefined },
      { address: 'fd00:9::2', owner: { containerID: 'c2', ifname: 'eth0' } },
    ])
  })

  test('a store that is not there has no leases', () => {
    expect(readLeases(join(folder, 'none'))).toEqual([])
  })

  test.each([
    [owner, true],
    [{ containerID: 'c1', ifname: '' }, true],
    [{ containerID: 'c1', ifname: 'eth1' }, false],
    [{ containerID: 'c2', ifname: 'eth0' }, false],
    [undefined, false],
  ])('%j is c1 eth0: %s', (found, want) => {
    expect(isOwner(found, owner)).toBe(want)
  })
})

describe('release', () => {
  const free = (address: string) => lockStore(folder, false, (store) => release(store, address, owner))

  test.each<[name: string, text: string, want: boolean]>([
    ['its own', 'c1\r\neth0', true],
    ['its own, of the oldest format', 'c1', true],
    ['of another interface', 'c1\r\neth1', false],
    ['of another container', 'c2\r\neth0', false],
    ['of nobody', '', false],
  ])('%s', async (_, text, want) => {
    put('10.9.0.2', text)
    expect(await free('10.9.0.2')).toBe(want)
    expect(names()).toEqual(want ? [] : ['10.9.0.2'])
  })

  test('once more is no error', async () => {
    expect(await free('10.9.0.2')).toBe(false)
  })
})

test('an address whose file names nobody is freed all the same', async () => {
  put('10.9.0.2', '???')
  const free = () => lockStore(folder, false, (store) => releaseAlien(store, '10.9.0.2'))
  expect([await free(), await free(), names()]).toEqual([true, false, []])
})

test('the time of a reservation is that of its file; other things have none', () => {
  put('10.9.0.2', 'c1')
  utimesSync(join(folder, '10.9.0.2'), 1_234_567_890, 1_234_567_890)
  mkdirSync(join(folder, '10.9.0.3'))
  expect(reservedAt(folder, '10.9.0.2')).toBe(1_234_567_890_000)
  expect([reservedAt(folder, '10.9.0.3'), reservedAt(folder, '10.9.0.4')]).toEqual([undefined, undefined])
})

test('the boot in which the store was looked through is noted, and is no address', async () => {
  expect(readBootNote(folder)).toBeUndefined()
  for (const boot of ['a boot', 'another']) {
    await lockStore(folder, false, (store) => writeBootNote(store, boot))
    expect(readBootNote(folder)).toBe(boot)
  }
  expect(listAddresses(folder)).toEqual([])
})

describe('lockStore', () => {
  test('a missing store is made for an ADD, and is nothing to do for a DEL', async () => {
    const store = join(folder, 'a/b')
    expect(await lockStore(store, false, never)).toBeUndefined()
    expect(await lockStore(store, true, () => readdirSync(store))).toEqual(['lock.lock'])
    expect(readdirSync(store)).toEqual([])
  })

  test('of two that come at the same time one is first', async () => {
    const order: string[] = []
    const work = (name: string) =>
      lockStore(folder, true, async () => {
        order.push(`${name} begins`)
        await new Promise((resolve) => setTimeout(resolve, 30))
        order.push(`${name} ends`)
      })
    await Promise.all([work('a'), work('b')])
    const [first, second] = order[0] === 'a begins' ? ['a', 'b'] : ['b', 'a']
    expect(order).toEqual([`${first} begins`, `${first} ends`, `${second} begins`, `${second} ends`])
  })

  test('a failure gives the lock back', async () => {
    await expect(
      lockStore(folder, true, () => {
        throw new TypeError('a bug')
      }),
    ).rejects.toThrow(new TypeError('a bug'))
    expect(names()).toEqual([])
  })

  test('who holds the lock is noted meanwhile, and told to who waits in vain', async () => {
    const told = await lockStore(folder, true, () => asFault(new LockTimeout(folder), folder))
    expect(told).toMatchObject({
      code: CODE.tryAgain,
      details: expect.stringContaining(`${folder}/lock.lock is held by process ${process.pid} (`),
    })
    const [note = ''] = readdirSync(moved('/run/pontoon'))
    mkdirSync(join(folder, 'lock.lock'))
    writeFileSync(join(moved('/run/pontoon'), note), `${process.pid} pid:[1] 1:2@3`)
    expect(asFault(new LockTimeout(folder), folder), 'a note of another lock').toMatchObject({
      details: expect.stringContaining('is held by an unknown process'),
    })
    rmdirSync(join(folder, 'lock.lock'))
    expect(await lockStore(folder, true, () => 'done'), 'it is written over').toBe('done')
  })

  test('a note that can not be written is no obstacle', async () => {
    broken.set('make /run/pontoon', 'EROFS')
    expect(await lockStore(folder, true, () => 'done')).toBe('done')
  })
})

describe('what goes wrong is told with the remedy', () => {
  test.each([
    ['create 10.9.0.2', 'ENOSPC', "can't create", 'the disk is full'],
    ['create 10.9.0.2', 'EROFS', "can't create", 'read-only'],
    ['create 10.9.0.2', 'EACCES', "can't create", 'permission denied'],
    ['create 10.9.0.2', 'EIO', "can't create", 'input/output error'],
    ['lock ', 'EROFS', "can't lock", 'read-only'],
  ])('%s: %s', async (failing, code, message, remedy) => {
    broken.set(failing, code)
    await expect(take([[tiny]])).rejects.toThrow(
      expect.objectContaining({
        code: CODE.io,
        message: expect.stringContaining(message),
        details: expect.stringContaining(`${code}: `),
      }),
    )
    await expect(take([[tiny]])).rejects.toThrow(expect.objectContaining({ details: expect.stringContaining(remedy) }))
    expect(names()).toEqual([])
  })

  test('a store whose folder can not be made', async () => {
    broken.set('make ', 'EROFS')
    await expect(lockStore(join(folder, 'net1'), true, never)).rejects.toThrow(
      expect.objectContaining({ code: CODE.io, message: expect.stringContaining("can't make") }),
    )
  })

  test('a store whose folder is a file', async () => {
    put('store', '')
    await expect(lockStore(join(folder, 'store/net1'), true, never)).rejects.toThrow(
      expect.objectContaining({ code: CODE.io, details: expect.stringContaining('ENOTDIR: a part of the path') }),
    )
  })

  test('an address that can not be freed', async () => {
    put('10.9.0.2', 'c1\r\neth0')
    broken.set('remove 10.9.0.2', 'EPERM')
    await expect(lockStore(folder, false, (store) => release(store, '10.9.0.2', owner))).rejects.toThrow(
      expect.objectContaining({ code: CODE.io, details: expect.stringContaining('chattr -i') }),
    )
  })
})
