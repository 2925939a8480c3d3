import { mkdirSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { isSameNamespace, openSandbox } from '../../src/host/sandbox.ts'
import { folder, useTemporaryFolders } from './relocated.ts'

const denied = vi.hoisted(() => ({ code: '' }))
vi.mock('#engine', async () => {
  const { engine } = await import('./relocated.ts')
  const { FileError } = await import('../../src/engine/engine.ts')
  const openFile = (path: string) => {
    if (denied.code) throw new FileError(denied.code, 'open', path)
    return engine.openFile(path)
  }
  return { ...engine, openFile }
})
useTemporaryFolders()

const OWN = '/proc/self/ns/net'
const own = statSync(OWN)

test('the own namespace is known as such, and can be named by children', () => {
  const sandbox = openSandbox(OWN) ?? expect.fail('it is a namespace')
  expect(sandbox).toMatchObject({ path: OWN, device: own.dev, inode: own.ino, isOwn: true })
  expect(sandbox.handle).toMatch(new RegExp(`^/proc/${process.pid}/fd/\\d+$`))
  expect(readlinkSync(sandbox.handle)).toBe(`net:[${own.ino}]`)
  sandbox.close()
  expect(() => statSync(sandbox.handle)).toThrow('ENOENT')
})

test('a link to it is the same namespace', () => {
  symlinkSync(`/proc/${process.pid}/ns/net`, join(folder, 'link'))
  const sandbox = openSandbox(join(folder, 'link'))
  expect(sandbox?.isOwn).toBe(true)
  sandbox?.close()
})

test('another namespace is not the own one', () => {
  const sandbox = openSandbox('/proc/self/ns/uts')
  expect(sandbox?.isOwn).toBe(false)
  sandbox?.close()
})

test.each<[name: string, make: (path: string) => void]>([
  ['nothing', () => {}],
  ['a plain file, as an unmount leaves it', (path) => writeFileSync(path, '')],
  ['a folder', (path) => mkdirSync(path)],
  ['a dangling link', (path) => symlinkSync('/nonexistent', path)],
  ['a link to itself', (path) => symlinkSync(path, path)],
])('%s is no namespace', (_, make) => {
  const path = join(folder, 'netns')
  make(path)
  expect([openSandbox(path), isSameNamespace(path, own.dev, own.ino)]).toEqual([undefined, false])
})

test.each(['', 'proc/self/ns/net', '/proc/999999999/ns/net', '/etc/passwd/x'])('%j is no namespace', (path) => {
  expect(openSandbox(path)).toBeUndefined()
})

test('a namespace that goes away while it is opened is gone', () => {
  denied.code = 'ENOENT'
  expect(openSandbox(OWN)).toBeUndefined()
  denied.code = ''
})

test('a namespace that can not be opened is told', () => {
  denied.code = 'EACCES'
  expect(() => openSandbox(OWN)).toThrow(
    expect.objectContaining({ code: CODE.io, message: `can't open the network namespace ${OWN}` }),
  )
  denied.code = ''
})

test('a path leads to the recorded namespace when device and inode are the same', () => {
  expect([
    isSameNamespace(OWN, own.dev, own.ino),
    isSameNamespace(OWN, own.dev + 1, own.ino),
    isSameNamespace(OWN, own.dev, own.ino + 1),
    isSameNamespace('/proc/self/ns/uts', own.dev, own.ino),
  ]).toEqual([true, false, false, false])
})
