import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FINDINGS } from '../../src/commands/doctor/facts.ts'
import { COMMANDS } from '../../src/commands/registry.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

test('every finding of doctor has its runbook, and there is no other', () => {
  const headings = [...read('docs/runbooks.md').matchAll(/^### `([a-z-]+)`$/gm)].map(([, name]) => name)
  expect(headings.toSorted()).toEqual(FINDINGS.toSorted())
})

test('every command is in docs/commands.md', () => {
  const text = read('docs/commands.md')
  for (const name of Object.keys(COMMANDS)) expect(text).toMatch(new RegExp(`^## .*\\b${name}\\b`, 'm'))
})
