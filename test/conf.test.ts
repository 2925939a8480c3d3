/** The examples in conf/, read as libcni hands them to the plugins. */
import { readdirSync, readFileSync } from 'node:fs'
import Ajv from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { parseHead } from '../src/cni/head.ts'
import { parseNetConf } from '../src/cni/netconf.ts'
import { parseRangeSets } from '../src/core/ranges.ts'
import { resolveRoutes } from '../src/core/routes.ts'

interface Plugin {
  readonly type: string
  readonly capabilities?: object
}

interface List {
  readonly cniVersion: string
  readonly cniVersions: readonly string[]
  readonly name: string
  readonly plugins: readonly Plugin[]
}

const folder = new URL('../conf/', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')
const names = readdirSync(folder).filter((name) => name.endsWith('.conflist'))

/** What containerd fills a template with. */
const NODE: Readonly<Record<string, readonly string[]>> = {
  PodCIDRRanges: ['10.91.5.0/24', 'fd00:91:5::/64'],
  Routes: ['0.0.0.0/0', '::/0'],
}

/** As much of Go's templates as the example uses: `range` over a list, with `if` for all but the first. */
function fill(template: string): string {
  const loop = /\{\{range \$i, \$(\w+) := \.(\w+)\}\}\{\{if \$i\}\}(.*?)\{\{end\}\}(.*?)\{\{end\}\}/g
  return template.replace(loop, (_, item: string, list: string, between: string, body: string) => {
    const values = NODE[list] ?? []
    return values.map((value) => body.replaceAll(`{{$${item}}}`, value)).join(between)
  })
}

const lists = names.map((name) => ({ name, list: JSON.parse(fill(read(name))) as List }))
const schema = JSON.parse(read('pontoon.schema.json'))
const validate = new Ajv({ strict: true, strictTypes: false, strictRequired: false }).compile(schema)

/** The plugin's object as libcni sends it. */
function sent({ cniVersion, name }: List, { capabilities: _, ...plugin }: Plugin): string {
  return JSON.stringify({ ...plugin, name, cniVersion })
}

test('there are examples', () => {
  expect(names.length).toBeGreaterThan(5)
})

test.each(lists)('$name is a list that any libcni of the last years can use', ({ list }) => {
  expect(list).toMatchObject({ cniVersion: '1.0.0', cniVersions: ['0.4.0', '1.0.0', '1.1.0'] })
  expect(list.plugins[0]?.type).toBe('pontoon')
})

test.each(lists)('$name: Pontoon accepts it, for each verb and in each of its versions', ({ list }) => {
  for (const cniVersion of list.cniVersions) {
    for (const plugin of list.plugins.filter(({ type }) => type === 'pontoon')) {
      const head = parseHead(sent({ ...list, cniVersion }, plugin))
      for (const verb of ['ADD', 'CHECK', 'STATUS', 'GC', 'DEL'] as const) {
        const { ipam } = parseNetConf(head, verb)
        expect(parseRangeSets(ipam?.ranges ?? [])).toHaveLength(ipam?.ranges.length ?? 0)
        expect(resolveRoutes(ipam?.routes ?? [], [], 'eth0')).toHaveLength(ipam?.routes.length ?? 0)
      }
    }
  }
})

test.each(lists)('$name is valid by the JSON Schema, as a list and as a single plugin', ({ list }) => {
  const check = (value: unknown) => (validate(value) ? [] : validate.errors)
  expect(check(list)).toEqual([])
  for (const plugin of list.plugins) expect(check(JSON.parse(sent(list, plugin)))).toEqual([])
})

test.each([
  { what: 'a flag in quotes', change: { isGateway: 'true' } },
  { what: 'a VLAN that there is not', change: { vlan: 4095 } },
  {
    what: 'a range set that is no list',
    change: { ipam: { type: 'host-local', ranges: [{ subnet: '10.1.0.0/24' }] } },
  },
  { what: 'a range without subnet', change: { ipam: { ranges: [[{ rangeStart: '10.1.0.2' }]] } } },
])('the JSON Schema refuses $what, as Pontoon does', ({ change }) => {
  const conf = { cniVersion: '1.0.0', name: 'pods', type: 'pontoon', ...change }
  expect(validate({ ...conf, plugins: [conf] })).toBe(false)
  expect(validate(conf)).toBe(false)
  expect(() => parseNetConf(parseHead(JSON.stringify(conf)), 'ADD')).toThrow()
})

test("the JSON Schema leaves another IPAM plugin's keys alone", () => {
  const conf = {
    cniVersion: '1.0.0',
    name: 'pods',
    type: 'bridge',
    ipam: { type: 'whereabouts', ranges: 'any', routes: 1 },
  }
  expect(validate(conf)).toBe(true)
  expect(parseNetConf(parseHead(JSON.stringify(conf)), 'ADD').ipam?.type).toBe('whereabouts')
})
