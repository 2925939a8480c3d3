import { expect, test } from 'vitest'
import {
  compareVersions,
  requireVersion,
  SUPPORTED_VERSIONS,
  type Verb,
  versionDocument,
} from '../../src/cni/version.ts'

interface Case {
  name: string
  verb: Verb
  version: string
  code?: number
}

const cases: Case[] = [
  ...SUPPORTED_VERSIONS.flatMap((version): Case[] => [
    { name: `ADD of ${version} is done`, verb: 'ADD', version },
    { name: `DEL of ${version} is done`, verb: 'DEL', version },
  ]),
  { name: 'ADD of an older version than any: refused', verb: 'ADD', version: '0.0.9', code: 1 },
  { name: 'ADD of a newer version: refused', verb: 'ADD', version: '1.2.0', code: 1 },
  { name: 'ADD compares text: two figures are refused', verb: 'ADD', version: '1.0', code: 1 },
  { name: 'ADD compares text: a v in front is refused', verb: 'DEL', version: 'v1.0.0', code: 1 },
  { name: 'ADD of a version that is no number: refused as unsupported', verb: 'ADD', version: 'abc', code: 1 },
  { name: 'CHECK came with 0.4.0', verb: 'CHECK', version: '0.4.0' },
  { name: 'CHECK of 0.3.1: refused', verb: 'CHECK', version: '0.3.1', code: 1 },
  { name: 'CHECK above the newest: refused', verb: 'CHECK', version: '1.2.0', code: 1 },
  { name: 'CHECK of a version in between: refused', verb: 'CHECK', version: '1.0.5', code: 1 },
  { name: 'CHECK of two figures: refused', verb: 'CHECK', version: '1.0', code: 1 },
  { name: 'CHECK of a version that is no number: not decoded', verb: 'CHECK', version: 'v1.0.0', code: 6 },
  { name: 'STATUS came with 1.1.0', verb: 'STATUS', version: '1.1.0' },
  { name: 'STATUS of 1.0.0: refused', verb: 'STATUS', version: '1.0.0', code: 1 },
  { name: 'STATUS above the newest: refused', verb: 'STATUS', version: '2.0.0', code: 1 },
  { name: 'STATUS of a version that is no number: not decoded', verb: 'STATUS', version: '1.x', code: 6 },
  { name: 'GC came with 1.1.0', verb: 'GC', version: '1.1.0' },
  { name: 'GC of 1.0.0: refused', verb: 'GC', version: '1.0.0', code: 1 },
  { name: 'GC above the newest: refused', verb: 'GC', version: '1.1.1', code: 1 },
  { name: 'GC of a version that is no number: not decoded', verb: 'GC', version: 'abc', code: 6 },
  { name: 'VERSION of any version is done', verb: 'VERSION', version: 'abc' },
]

test.each(cases)('$name', ({ verb, version, code }) => {
  if (code === undefined) expect(() => requireVersion(verb, version)).not.toThrow()
  else expect(() => requireVersion(verb, version)).toThrow(expect.objectContaining({ code }))
})

test('a refused version and its remedy are named', () => {
  expect(() => requireVersion('ADD', '9.9.9')).toThrow(
    expect.objectContaining({
      message: 'cniVersion "9.9.9" is not supported',
      details: expect.stringContaining('0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0'),
    }),
  )
})

test.each([
  { name: 'the same', left: '1.0.0', right: '1.0.0', want: 0 },
  { name: 'figures left out are zero', left: '1', right: '1.0.0', want: 0 },
  { name: 'figures are numbers, not text', left: '0.10.0', right: '0.9.0', want: 1 },
  { name: 'the first figure counts most', left: '0.4.0', right: '1.0.0', want: -1 },
])('comparison: $name', ({ left, right, want }) => {
  expect(Math.sign(compareVersions(left, right))).toBe(want)
})

test.each([
  { name: 'without a version: the newest', given: undefined, want: '1.1.0' },
  { name: 'in the version of the caller', given: '0.4.0', want: '0.4.0' },
  { name: 'in the newest when the version of the caller is not supported', given: '7.0.0', want: '1.1.0' },
])('VERSION answers $name', ({ given, want }) => {
  expect(JSON.parse(versionDocument(given))).toEqual({
    cniVersion: want,
    supportedVersions: ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'],
  })
})
