import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { keyOf } from '../../src/core/attachment.ts'
import { CODE, Fault } from '../../src/core/fault.ts'
import { sweep, throwFailures, type Victim } from '../../src/host/sweep.ts'
import { attachment } from '../core/seen.ts'
import { broken, folder, useTemporaryFolders } from './relocated.ts'
import { files, followScripts, IP, NFT, script } from './scripted.ts'

vi.mock('#engine', async () => (await import('./mixed.ts')).engine)
followScripts()
useTemporaryFolders()

const ELEMENT = 'inet cni_plugins_masquerade pods-net1-10.9.0.0/24 10.9.0.2'
const NFT_LINES = ['add', 'delete'].map((verb) => `${verb} element ${ELEMENT.replace(/ (\S+)$/, ' { $1 }')}\n`).join('')

const victim: Victim = {
  attachment,
  owner: attachment,
  addresses: ['10.9.0.2'],
  links: ['veth1'],
  elements: [ELEMENT],
}
const other = { ...attachment, containerID: 'c2' }
const second: Victim = {
  ...victim,
  attachment: other,
  owner: other,
  addresses: ['10.9.0.3'],
  links: ['veth2'],
  elements: [],
}

const place = () => ({ storeFolder: join(folder, 'net1'), indexFolder: join(folder, 'index') })
const entryOf = ({ attachment: of }: Victim) => join(place().indexFolder, keyOf(of).slice(0, 32))

/** A store and an index with what these have. */
function populate(...victims: readonly Victim[]): void {
  mkdirSync(place().storeFolder)
  mkdirSync(place().indexFolder)
  for (const { owner, addresses, ...rest } of victims) {
    for (const address of addresses) {
      writeFileSync(join(place().storeFolder, address), `${owner.containerID}\r\n${owner.ifname}`)
    }
    writeFileSync(entryOf({ owner, addresses, ...rest }), '{}')
  }
}

const left = () => [...readdirSync(place().storeFolder), ...readdirSync(place().indexFolder)].sort()
const ip = (told: string, exit = {}) => ({ argv: IP, dialog: [{ told }], exit })
const nft = (exit = {}) => ({ argv: NFT, dialog: [{ told: NFT_LINES }], exit })
const failed = (text: string) => ({ status: 1, stderr: `${text}\nCommand failed -:1\n` })

test('link, rules, address and entry of one attachment', async () => {
  populate(victim, second)
  script(ip('link del dev veth1\n'), nft())
  expect(await sweep([victim], place())).toEqual([])
  expect(left()).toEqual(['10.9.0.3', keyOf(other).slice(0, 32)])
})

test('several attachments in one process each', async () => {
  populate(victim, second)
  script(ip('link del dev veth1\nlink del dev veth2\n'), nft())
  expect(await sweep([victim, second], place())).toEqual([])
  expect(left()).toEqual([])
})

test('nothing is there: nothing is started, nothing is made', async () => {
  expect(await sweep([{ ...victim, links: [], elements: [] }], place())).toEqual([])
  expect(existsSync(place().storeFolder)).toBe(false)
})

test.each([
  { name: 'was killed', exit: { status: 137, stderr: '' }, code: CODE.tryAgain },
  { name: 'hung', exit: { status: 137, stderr: '', timedOut: true }, code: CODE.tryAgain },
  { name: 'did not start', exit: { status: 127, stderr: 'ip: not found' }, code: CODE.tool },
])('where ip $name over a link that is still there, the address stays reserved', async ({ exit, code }) => {
  populate(victim, second)
  files.set('/proc/sys/net/ipv4/conf/veth2', '')
  script(ip('link del dev veth1\nlink del dev veth2\n', exit), nft())
  expect(await sweep([victim, second], place())).toEqual([expect.objectContaining({ code })])
  expect(left()).toEqual(['10.9.0.3', keyOf(other).slice(0, 32)])
})

test('a link that went with its namespace meanwhile is as good as removed', async () => {
  populate(victim)
  script(ip('link del dev veth1\n', failed('Cannot find device "veth1"')), nft())
  expect(await sweep([victim], place())).toEqual([])
  expect(left()).toEqual([])
})

test('a link that stays keeps its address, and is told', async () => {
  populate(victim)
  files.set('/proc/sys/net/ipv4/conf/veth1', '')
  script(ip('link del dev veth1\n', failed('RTNETLINK answers: Device or resource busy')), nft())
  expect(await sweep([victim], place())).toEqual([
    expect.objectContaining({
      code: CODE.leftover,
      message: "can't remove veth1",
      details: 'ip: RTNETLINK answers: Device or resource busy',
    }),
  ])
  expect(left()).toEqual(['10.9.0.2', keyOf(attachment).slice(0, 32)])
})

test('links and rules fail: both are told', async () => {
  populate(victim)
  files.set('/proc/sys/net/ipv4/conf/veth1', '')
  script(ip('link del dev veth1\n', failed('busy')), nft({ status: 1, stderr: 'x: Error: Operation not permitted\n' }))
  expect((await sweep([victim], place())).map(String)).toEqual([
    "Fault: can't remove veth1",
    'Fault: nft: Operation not permitted',
  ])
})

test('an address of somebody else is left alone; the entry goes all the same', async () => {
  populate(second)
  script(ip('link del dev veth1\n'))
  expect(await sweep([{ ...victim, addresses: ['10.9.0.3'], elements: [] }], place())).toEqual([])
  expect(left()).toEqual(['10.9.0.3', keyOf(other).slice(0, 32)])
})

test('an address that can not be freed does not keep the others; its entry stays', async () => {
  const both = { ...victim, addresses: ['10.9.0.2', '10.9.0.7'], links: [], elements: [] }
  populate(both)
  broken.set('remove 10.9.0.2', 'EPERM')
  expect(await sweep([both], place())).toEqual([expect.objectContaining({ code: CODE.io })])
  expect(left()).toEqual(['10.9.0.2', keyOf(attachment).slice(0, 32)])
})

test('addresses that name no owner are freed when they are named', async () => {
  populate()
  writeFileSync(join(place().storeFolder, '10.9.0.9'), '')
  expect(await sweep([], place(), {}, ['10.9.0.9'])).toEqual([])
  expect(left()).toEqual([])
})

test('a lock that a killed process left is taken, and goes', async () => {
  populate()
  const lock = join(place().storeFolder, 'lock.lock')
  mkdirSync(lock)
  utimesSync(lock, 1, 1)
  expect(await sweep([{ ...victim, addresses: [], links: [], elements: [] }], place())).toEqual([])
  expect(left()).toEqual([])
})

test('no failure is no error, one is itself, several are one', () => {
  const fault = (message: string) => new Fault(CODE.io, message, 'a remedy')
  expect(() => throwFailures([], 'DEL')).not.toThrow()
  expect(() => throwFailures([fault('one')], 'DEL')).toThrow(fault('one'))
  expect(() => throwFailures([fault('one'), fault('two')], 'DEL of c1')).toThrow(
    expect.objectContaining({
      code: CODE.leftover,
      message: 'DEL of c1: 2 things could not be removed',
      details: 'one: a remedy; two: a remedy',
    }),
  )
  expect(() => throwFailures([fault('one'), new TypeError('a bug')], 'DEL')).toThrow(new TypeError('a bug'))
})

test('a file that named nobody is freed, unless an ADD has written its name into it since', async () => {
  populate(second)
  writeFileSync(join(place().storeFolder, '10.9.0.4'), '')
  expect(await sweep([], place(), {}, ['10.9.0.3', '10.9.0.4'])).toEqual([])
  expect(left()).toEqual(['10.9.0.3', keyOf(other).slice(0, 32)])
})
