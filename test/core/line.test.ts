import { expect, test } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { isPlainWord, line } from '../../src/core/line.ts'
import fc from '../properties.ts'

test('a line is the text with its words put in', () => {
  expect(line`link set dev ${'veth0'} mtu ${1500} up`).toBe('link set dev veth0 mtu 1500 up')
})

test.each(['cni0', 'up', 'type', 'd', '10.9.0.1/24', 'fd00::1', 'pontoon:net1/c1/eth0', '/proc/1/fd/7', 'a-b', '@if3'])(
  '%s is one plain word',
  (word) => {
    expect(line`dev ${word}`).toBe(`dev ${word}`)
  },
)

const refused: [name: string, value: string][] = [
  ['nothing', ''],
  ['a space', 'a b'],
  ['a tab', 'a\tb'],
  ['a newline, which begins another command', 'eth0\nlink del dev cni0'],
  ['a carriage return', 'a\rb'],
  ['a hash, which ends the line', 'a#b'],
  ['a double quote', 'a"b'],
  ['a single quote', "a'b"],
  ['a backslash', 'a\\b'],
  ['a NUL', 'a\0b'],
  ['a delete character', 'a\x7fb'],
  ['an escape', '\x1b[2J'],
  ['a letter beyond ASCII', 'é'],
  ['a space beyond ASCII', 'a\u00a0b'],
  ['a line separator beyond ASCII', 'a\u2028b'],
  ['half of a character', '\ud800'],
  ['an option', '-force'],
  ['a lone dash', '-'],
  ['two dashes', '--'],
]

test.each(refused)('%s is refused', (_, value) => {
  expect(() => line`link set dev ${value} up`).toThrow(
    expect.objectContaining({ code: CODE.invalidConfig, message: `${JSON.stringify(value)} can't be handed to ip(8)` }),
  )
})

test.each([-1, -0.5])('the number %d is refused, since it looks like an option', (value) => {
  expect(() => line`mtu ${value}`).toThrow(expect.objectContaining({ code: CODE.invalidConfig }))
})

const harmless = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!$%&()*+,-./:;<=>?@[]^_`{|}~']
const harmful = [' ', '\t', '\n', '\r', '\0', '#', '"', "'", '\\', '\x7f', '\u00a0', 'é', '😀']
const mixed = fc.string({ unit: fc.constantFrom(...harmless, ...harmful), maxLength: 6 })

test('nothing passes that is not one plain word', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string(), mixed), (value) => {
      const isPlain = value !== '' && !value.startsWith('-') && [...value].every((char) => harmless.includes(char))
      expect(isPlainWord(value)).toBe(isPlain)
    }),
    { numRuns: 2000 },
  )
})
