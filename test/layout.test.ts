import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`)

/** What each layer may import: layers, `engine.ts` for the types of the engine, `#engine`, and packages. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'plugin.ts': ['cli.ts', 'verbs', 'host', 'core', 'cni', '#engine', 'engine.ts'],
  'cli.ts': ['commands', 'host', 'core', 'cni', '#engine', 'engine.ts'],
  verbs: ['verbs', 'host', 'core', 'cni', '#engine', 'engine.ts'],
  // Commands answer for the verbs: what they find and remove is found and removed by the verbs' own functions.
  commands: ['verbs', 'commands', 'host', 'core', 'cni', '#engine', 'engine.ts', '@stricli/core'],
  host: ['host', 'core', '#engine', 'engine.ts'],
  cni: ['cni', 'core', 'valibot'],
  core: ['core', 'ip-address', '@noble/hashes/sha2.js'],
  engine: ['engine', 'engine.ts', 'node:', 'qjs:', 'execa', 'proper-lockfile'],
}

/** `host` for src/host/store.ts, `plugin.ts` for src/plugin.ts, `engine.ts` for src/engine/engine.ts. */
function layerOf(file: string): string {
  return file === 'src/engine/engine.ts' ? 'engine.ts' : (file.split('/')[1] ?? '')
}

/** All that a file imports, by whatever syntax: statically, dynamically, as a type. */
function importsOf(file: string): readonly string[] {
  return [...read(file).matchAll(/(?:\bfrom|\bimport|\brequire)[\s(]*'([^']+)'/g)].map(([, target = '']) => target)
}

function targetOf(file: string, written: string): string {
  if (written.startsWith('.')) return layerOf(normalize(join(dirname(file), written)))
  return /^(node|qjs):/.exec(written)?.[0] ?? written
}

test('imports point down only', () => {
  const offending = sources.flatMap((file) => {
    const layer = file === 'src/engine/engine.ts' ? 'engine' : layerOf(file)
    return importsOf(file)
      .filter((written) => !mayImport[layer]?.includes(targetOf(file, written)))
      .map((written) => `${file} imports ${written}`)
  })
  expect(offending).toEqual([])
})

test('an engine knows nothing of the other one', () => {
  const of = (engine: string) => sources.filter((file) => file.startsWith(`src/engine/${engine}`))
  const offending = [
    ...of('node').flatMap((file) => importsOf(file).filter((name) => /qjs|quickjs/.test(name))),
    ...of('quickjs').flatMap((file) => importsOf(file).filter((name) => !/^(qjs:|\.)/.test(name) || /node/.test(name))),
  ]
  expect(offending).toEqual([])
})

test('the reader of imports sees all of them', () => {
  expect(importsOf('src/core/ranges.ts')).toEqual(['./fault.ts', './ip.ts'])
  expect(importsOf('src/verbs/run.ts')).toContain('./add.ts')
  expect(importsOf('src/host/announce.ts')).toContain('#engine')
  expect(importsOf('src/engine/node/lazy.ts')).toContain('execa')
})

test('no file is too long to be read at once', () => {
  expect(sources.filter((file) => read(file).split('\n').length > 261)).toEqual([])
})

// Put together here, so that this file has none of them.
const elsewhere = [
  ['', 'work', ''].join('/'),
  ['', 'home', ''].join('/'),
  ['registry', 'npmjs', 'org'].join('.'),
  ['registry', 'yarnpkg', 'com'].join('.'),
  ['deb', 'debian', 'org'].join('.'),
  ['proxy', 'golang', 'org'].join('.'),
]

test.skipIf(!existsSync(join(root, '.git')))(
  'no committed file names a folder or a registry of the one who wrote it',
  () => {
    const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean)
    const offending = files
      .filter((file) => existsSync(join(root, file)))
      .flatMap((file) => {
        const text = read(file)
        return elsewhere
          .filter((word) => new RegExp(`(?<![\\w./$}-])${word.replaceAll('.', '\\.')}`).test(text))
          .map((word) => `${file} has ${word}`)
      })
    expect(offending).toEqual([])
  },
)
