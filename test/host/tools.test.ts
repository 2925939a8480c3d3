import { beforeEach, expect, test, vi } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { findTool, lookUpTool, TOOL_ENV, TOOL_FOLDERS } from '../../src/host/tools.ts'

const sizes = vi.hoisted(() => new Map<string, number>())
vi.mock('#engine', () => ({
  statIfThere(path: string) {
    const size = sizes.get(path)
    if (path.startsWith('/sbin/') && size === undefined) throw new Error(`${path} can't be looked at`)
    return size === undefined ? undefined : { size }
  },
}))
beforeEach(() => sizes.clear())

test('the first folder that has it wins', () => {
  sizes.set('/run/current-system/sw/bin/nft', 9)
  expect(findTool('nft')).toBe('/run/current-system/sw/bin/nft')
  sizes.set('/usr/bin/nft', 9)
  expect(findTool('nft')).toBe('/usr/bin/nft')
  sizes.set('/usr/sbin/nft', 9)
  expect(findTool('nft')).toBe('/usr/sbin/nft')
})

test('an empty file is no program', () => {
  sizes.set('/usr/sbin/ip', 0).set('/sbin/ip', 9)
  expect(findTool('ip')).toBe('/sbin/ip')
})

test('a folder of the caller is not looked into, whatever PATH says', () => {
  sizes.set('/opt/bin/ip', 9)
  vi.stubEnv('PATH', '/opt/bin')
  expect(lookUpTool('ip')).toBeUndefined()
  vi.unstubAllEnvs()
})

test('what is missing is told with its package and the folders', () => {
  expect(() => findTool('nsenter')).toThrow(
    expect.objectContaining({
      code: CODE.tool,
      message: 'the tool nsenter is missing',
      details: `looked in ${TOOL_FOLDERS.join(', ')}; install the package util-linux`,
    }),
  )
})

test('tools speak English, and get nothing else of the environment', () => {
  expect(TOOL_ENV).toEqual({
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:/run/current-system/sw/bin',
    LC_ALL: 'C',
  })
})
