/** What the documents say about keys, held against what the plugin reads. */
import { globSync, readFileSync } from 'node:fs'
import Ajv from 'ajv/dist/2020.js'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { flatten, innermost, type Key, type Shape } from '../scripts/docs/key.ts'
import { LIBCNI_KEYS, LIST_KEYS, PLUGIN_KEYS } from '../scripts/docs/keys.ts'
import { manual } from '../scripts/docs/manual.ts'
import { markdown } from '../scripts/docs/markdown.ts'
import { namedObjects, schemaOf, shapeOf } from '../scripts/docs/schema.ts'
import { parseHead } from '../src/cni/head.ts'
import { parseNetConf } from '../src/cni/netconf.ts'
import { ipamSchema, netConfSchema } from '../src/cni/netconf-schema.ts'
import { SUPPORTED_VERSIONS } from '../src/cni/version.ts'

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')

describe('what is made of the table is what is committed: else run `npm run docs`', () => {
  test('conf/pontoon.schema.json', () => {
    expect(JSON.parse(read('conf/pontoon.schema.json'))).toEqual(JSON.parse(JSON.stringify(schemaOf())))
  })
  test('docs/configuration.md', () => {
    expect(read('docs/configuration.md')).toBe(markdown())
  })
  test('docs/pontoon.8', () => {
    expect(read('docs/pontoon.8')).toBe(manual())
  })
})

test('the manual has every variable of the environment that is read, but for the protocol’s', () => {
  const sources = globSync('src/**/*.ts', { cwd: new URL('..', import.meta.url) }).map(read)
  const names = sources.flatMap((text) =>
    [...text.matchAll(/readEnv\('(\w+)'\)|'(LC_\w+|LANG)'/g)].map(([, one, other]) => one ?? other),
  )
  const told = [...new Set(names)].filter((name) => name && name !== 'PATH' && !name.startsWith('CNI_')).sort()
  expect(told).toContain('COLUMNS')
  const [, environment = ''] = manual().split('.SH ENVIRONMENT')
  expect(told.filter((name) => !new RegExp(`\\b${name}\\b`).test(environment))).toEqual([])
  expect(environment).toContain('journal')
})

/** The parts of a valibot schema that the walk needs. */
interface Node {
  readonly entries?: Readonly<Record<string, Node>>
  readonly item?: Node
  readonly wrapped?: Node
}

/** All keys that the plugin reads, with their paths as in the table. */
function schemaPaths(node: Node, front = ''): readonly (readonly [path: string, entry: Node])[] {
  return Object.entries(node.entries ?? {}).flatMap(([name, entry]) => {
    const path = front + name
    if (path === 'ipam') return [[path, entry] as const, ...schemaPaths(ipamSchema as unknown as Node, 'ipam.')]
    let inner = entry.wrapped ?? entry
    let suffix = ''
    for (; inner.item; inner = inner.item) suffix += '[]'
    return [[path, entry] as const, ...schemaPaths(inner, `${path}${suffix}.`)]
  })
}

const documented = new Map(flatten(PLUGIN_KEYS))
const known = new Map(schemaPaths(netConfSchema as unknown as Node))

test('every key that is read is documented, and no other', () => {
  expect([...documented.keys()].toSorted()).toEqual([...known.keys()].toSorted())
})

test('keys of the list are those of libcni, and those that are read before the rest', () => {
  const elsewhere = ['cniVersions', 'disableCheck']
  const rest = Object.keys(LIST_KEYS).filter((name) => !elsewhere.includes(name) && !known.has(name))
  expect(rest).toEqual(['cniVersion', 'name'])
  expect(Object.keys(LIBCNI_KEYS).filter((name) => known.has(name))).toEqual([])
})

const ajv = new Ajv({ strict: false })
const $defs = (schemaOf() as { $defs: object }).$defs

function validatorOf(shape: Shape): (value: unknown) => boolean {
  const check = ajv.compile({ ...shapeOf(shape), $defs })
  return (value) => check(value) === true
}

const SCALARS: readonly unknown[] = [
  ...[-1, 0, 1, 67, 68, 1500, 65535, 65536, 254, 255, 256, 4094, 4095, 4294967295, 4294967296, 1.5, 2 ** 53],
  ...[true, false, 'true', 'iptables', 'nftables', 'Iptables', 'host-local', '10.1.0.0/24', 'fd00::1'],
  ...['eth0', 'a', 'fifteen-letters', 'sixteen-letters1', '-x', 'x-', '.', '..', '...', 'a.b', 'a/b', 'a:b', 'a b'],
  ...[
    'a\tb',
    'a\nb',
    'a#b',
    'a"b',
    "a'b",
    'a\\b',
    'a%b',
    'ä',
    'a\u0085b',
    'a\0b',
    '~!$&()*+,;<=>?@[]^_`{|}'.slice(0, 15),
  ],
  ...[
    '(){}[]|<>?*',
    '/var/lib',
    '/var/../lib',
    '/..',
    '/../x',
    '/x/..',
    '/x/...',
    '/..x/y..',
    'var/lib',
    '/a\nb',
    '/',
    '/ä b',
  ],
]
const PROBES: readonly unknown[] = [
  ...SCALARS,
  ...['', [], {}, [[]], [{}], [[{}]], ['x'], [1], [['x']], [true], { subnet: 'x' }],
  ...[
    [{ subnet: 'x' }],
    [[{ subnet: 'x' }]],
    [[{ subnet: 1 }]],
    [{ dst: 'x' }],
    [{ dst: 'x', scope: 256 }],
    [{ id: 4095 }],
  ],
  ...[
    [{ id: 1 }],
    [{ containerID: 'c', ifname: 'e' }],
    [{ containerID: 'c' }],
    { mac: 'x' },
    { mac: 1 },
    { cni: { ips: [1] } },
  ],
]

test.each([...known])('%s: the JSON Schema takes what the plugin takes', (path, entry) => {
  const { shape } = documented.get(path) as Key
  // Its parts depend on its type, and are compared one by one.
  const isValid = path === 'ipam' ? validatorOf({ keys: {} }) : validatorOf(shape)
  const differing = PROBES.filter(
    (value) => v.is((entry.wrapped ?? entry) as unknown as v.GenericSchema, value) !== isValid(value),
  )
  expect(differing).toEqual([])
})

test('name and cniVersion: the JSON Schema takes what the plugin takes', () => {
  const isName = validatorOf((LIST_KEYS.name as Key).shape)
  const isRead = (name: unknown) => {
    try {
      return parseHead(JSON.stringify({ name })).name === name
    } catch {
      return false
    }
  }
  expect(SCALARS.filter((value) => isRead(value) !== isName(value))).toEqual([])
  expect(shapeOf((LIST_KEYS.cniVersion as Key).shape)).toEqual({ type: 'string', enum: SUPPORTED_VERSIONS })
})

describe('defaults', () => {
  const head = parseHead('{"name": "n"}')
  const minimal = parseNetConf({ ...head, object: { type: 'bridge', ipam: { type: 'host-local' } } }, 'ADD')
  const parsed: object = { ...minimal, cniVersion: head.cniVersion }

  const inList = (path: string) => path.includes('[]')
  // Turned into something else when read: a single range into a set, name servers into one value, both lists into one.
  const elsewhere =
    /^(type|prevResult|ipMasq[46]|dns\..*|args.*|ipam\.(type|subnet|rangeStart|rangeEnd|gateway|exclude)|cni\.dev.*|runtimeConfig)$/
  const keys = [...documented, ['cniVersion', LIST_KEYS.cniVersion as Key] as const]
  const compared = keys.filter(([path]) => !inList(path) && !elsewhere.test(path) && path !== 'ipam')

  test.each(compared)('%s', (path, key) => {
    const value = path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], parsed)
    const isNothing = value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
    expect(isNothing ? undefined : value).toEqual(key.default)
  })

  test('a key that is compared with nothing has no default', () => {
    const rest = keys.filter(([path]) => inList(path) || elsewhere.test(path) || path === 'ipam')
    expect(rest.filter(([, key]) => key.default !== undefined)).toEqual([])
  })

  test('no section at all is a network of layer 2', () => {
    expect(parseNetConf(head, 'ADD').ipam).toBeUndefined()
  })
})

test('examples are what the keys take', () => {
  const all = [...flatten(PLUGIN_KEYS), ...flatten(LIST_KEYS), ...flatten(LIBCNI_KEYS)]
  expect(all.filter(([, { shape, example }]) => !validatorOf(shape)(example)).map(([path]) => path)).toEqual([])
})

test('an object that stands in several places is described once, with its name', () => {
  const named = namedObjects().map(([name]) => name)
  expect(named).toEqual(['range', 'route', 'attachment'])
  const unnamed = [...documented].filter(([, { shape }]) => {
    const [inner] = innermost(shape)
    return 'keys' in inner && inner.name === undefined
  })
  expect(unnamed.map(([path]) => path)).toEqual(['vlanTrunk', 'dns', 'ipam', 'runtimeConfig', 'args', 'args.cni'])
})
