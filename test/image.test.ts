/** What is loaded when the executable is built must not look at the machine that builds it: see docs/architecture.md. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'

const called: string[] = []

vi.mock('#engine', async () => {
  const real = await import('../src/engine/node.ts')
  const refuse = (name: string) => () => {
    called.push(name)
    throw new Error(`${name} is called when its module is loaded`)
  }
  return Object.fromEntries(Object.keys(real).map((name) => [name, refuse(name)]))
})

const source = readFileSync(join(import.meta.dirname, '../src/plugin.ts'), 'utf8')
const parts = Array.from(
  source.slice(source.indexOf('function parts')).matchAll(/import\('(.*?)'\)/g),
  ([, path]) => path,
)

test('the parts of the start image are found', () => {
  expect(parts.length).toBeGreaterThan(10)
})

test.each(parts)('%s asks the engine for nothing when it is loaded', async (path) => {
  await import(join(import.meta.dirname, '../src', path as string))
  expect(called).toEqual([])
})
