import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseRequest } from '../../src/cni/request.ts'
import { parseResult, renderResult } from '../../src/cni/result.ts'

interface Sample {
  plugin: string
  env: Record<string, string>
  stdin: Record<string, unknown>
  reference: { stdout: unknown }
}

const folder = new URL('../fixtures/samples/', import.meta.url)
const samples = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({ name, ...(JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Sample) }))

test.each(samples)('$name: what a real client sent is read without a fault', ({ env, stdin }) => {
  const request = parseRequest(
    (name) => env[name],
    () => JSON.stringify(stdin),
  )
  expect(request).toMatchObject({ verb: env.CNI_COMMAND, netconf: { cniVersion: stdin.cniVersion } })
})

const withPrevResult = samples.filter(({ stdin }) => stdin.prevResult !== undefined)

test.each(withPrevResult)('$name: its prevResult is understood and printed as it came', ({ stdin }) => {
  const result = parseResult(stdin.prevResult, { strict: true })
  // Some clients keep an empty dns in a version that leaves it out.
  const { dns: _, ...came } = stdin.prevResult as Record<string, unknown>
  const { dns: __, ...printed } = JSON.parse(renderResult(result, stdin.cniVersion as string))
  expect(printed).toEqual(came)
})

const answered = samples.filter(
  ({ plugin, reference: { stdout } }) => plugin !== 'loopback' && Object.hasOwn(Object(stdout), 'ips'),
)

test.each(answered)('$name: the same result is printed as the reference did, key by key', ({ stdin, reference }) => {
  const printed = renderResult(parseResult(reference.stdout, { strict: true }), stdin.cniVersion as string)
  expect(printed).toBe(JSON.stringify(reference.stdout, null, 4))
})
