import { expect, test } from 'vitest'
import type { Request } from '../../src/cni/request.ts'
import { CODE } from '../../src/core/fault.ts'
import { chooseMac } from '../../src/verbs/mac.ts'

/** The three places where a caller may ask. */
function choose(runtimeConfig?: string, args?: string, fromEnvironment?: string): string | undefined {
  const request = {
    netconf: { runtimeConfig: { mac: runtimeConfig }, args: { mac: args } },
    args: { mac: fromEnvironment },
  }
  return chooseMac(request as unknown as Request)
}

const [A, B, C] = ['02:00:00:00:00:0a', '02:00:00:00:00:0b', '02:00:00:00:00:0c']

test.each<[asked: (string | undefined)[], want: string | undefined]>([
  [[], undefined],
  [[A, B, C], A],
  [[undefined, B, C], B],
  [[undefined, undefined, C], C],
])('%j: %s', (asked, want) => {
  expect(choose(...asked)).toBe(want)
})

test.each([
  ['C2:B0:57:49:47:F1', 'c2:b0:57:49:47:f1'],
  ['c2-b0-57-49-47-f1', 'c2:b0:57:49:47:f1'],
  ['00:00:00:00:00:01', '00:00:00:00:00:01'],
])('%s is written as %s', (text, want) => {
  expect(choose(text)).toBe(want)
})

test.each([
  '',
  'x',
  '02:00:00:00:00',
  '02:00:00:00:00:01:02',
  '2:0:0:0:0:1',
  '02:00:00:00:00:0g',
  '020000000001',
  '01:00:5e:00:00:01',
  'ff:ff:ff:ff:ff:ff',
  '00:00:00:00:00:00',
  '02:00:00:00:00:01\n',
  '02:00:00:00:00:01 up',
])('%j is refused, also when another place asks for a good one', (text) => {
  expect(() => choose(text, B, C)).toThrow(
    expect.objectContaining({
      code: CODE.invalidConfig,
      message: 'invalid hardware address',
      details: `expected a unicast address such as 02:00:00:00:00:01; found "${text}"`,
    }),
  )
})
