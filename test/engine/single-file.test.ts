import { spawnSync } from 'node:child_process'
import { mkdtempSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from '../../scripts/build/bundle.mjs'
import { buildNode } from '../../scripts/build/node.mjs'
import { directory, removePrograms } from './programs.ts'

const program = join(directory, 'single-file')

beforeAll(() => buildNode({ entry: join(root, 'test/engine/contract-program.ts'), output: program }))
afterAll(removePrograms)

function run(words: readonly string[], env: Readonly<Record<string, string>> = {}, file = program) {
  const { status, stdout, stderr } = spawnSync(file, words, { env, encoding: 'utf8' })
  return { status, stdout, stderr }
}

test.each([
  ['NODE_OPTIONS', '--require=/no/such/module'],
  ['NODE_OPTIONS', '--no-such-option'],
  ['OPENSSL_CONF', '/no/such/file'],
])('the single file of Node.js obeys no %s=%s', (name, value) => {
  expect(run(['print', '/proc/sys/kernel/ostype'], { [name]: value })).toEqual({
    status: 0,
    stdout: 'Linux\n',
    stderr: '',
  })
})

test('its words are its own, and the first is the name that it is called by', () => {
  const link = join(directory, 'bridge')
  symlinkSync(program, link)
  const words = ['words', '--version', '--inspect', 'a b']
  expect(JSON.parse(run(words, {}, link).stdout)).toEqual([link, ...words])
})

test('it carries execa and proper-lockfile with it', () => {
  expect(run(['check', 'a program ends with its status', '/']).status).toBe(0)
  const empty = mkdtempSync(join(directory, 'case-'))
  expect(run(['check', 'the lock is a directory while it is held', empty])).toEqual({
    status: 0,
    stdout: '',
    stderr: '',
  })
})
