import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { sha256 } from '../../src/core/sha256.ts'
import fc from '../properties.ts'

const wanted = (text: string) => createHash('sha256').update(text, 'latin1').digest('hex')

test.each([
  ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
])('the digest of "%s" is the one that FIPS 180-4 has', (text, digest) => {
  expect(sha256(text)).toBe(digest)
})

test('every length around the end of a block', () => {
  for (let length = 0; length <= 200; length++) expect(sha256('x'.repeat(length))).toBe(wanted('x'.repeat(length)))
})

test('any text of bytes has the digest that Node.js has for it', () => {
  const text = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) })
  fc.assert(fc.property(text, (value) => sha256(value) === wanted(value)))
})
