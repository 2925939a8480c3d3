/**
 * What a verb loads is what it costs to start, where it is not in the start image already: which is in it, budgets for the
 * rest, and parts that must not be read before they are needed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'
import { beforeAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
let metafile: Metafile

beforeAll(async () => {
  const built = await build({
    entryPoints: [join(root, 'src/plugin.ts')],
    absWorkingDir: root,
    outdir: 'dist',
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: 'esm',
    minifyWhitespace: true,
    minifySyntax: true,
    conditions: ['quickjs', 'module', 'import'],
    mainFields: ['module', 'main'],
    external: ['qjs:*'],
  })
  metafile = built.metafile
})

/** The files of the bundle that are read for these entries: their own, and all that those import statically. */
function filesOf(...entries: readonly string[]): readonly string[] {
  const read = new Set<string>()
  const visit = (name: string): void => {
    if (read.has(name)) return
    read.add(name)
    for (const { kind, path } of metafile.outputs[name]?.imports ?? []) {
      if (kind === 'import-statement' && metafile.outputs[path]) visit(path)
    }
  }
  for (const entry of entries) {
    const found = Object.keys(metafile.outputs).find((name) => metafile.outputs[name]?.entryPoint === entry)
    expect(found, entry).toBeDefined()
    visit(found as string)
  }
  return [...read]
}

const ADD = ['src/verbs/ahead.ts', 'src/verbs/add.ts']

test.each([
  ['VERSION', [], 85_000],
  ['ADD', ADD, 170_000],
  ['DEL', ['src/verbs/del.ts'], 110_000],
  ['CHECK', ['src/verbs/check.ts'], 145_000],
  ['STATUS', ['src/verbs/status.ts'], 120_000],
  ['GC', ['src/verbs/gc.ts'], 125_000],
] as const)('%s reads no more bytes of code than its budget', (_, entries, most) => {
  const bytes = filesOf('src/plugin.ts', ...entries).map((name) => metafile.outputs[name]?.bytes ?? 0)
  expect(bytes.reduce((sum, count) => sum + count)).toBeLessThan(most)
})

test.each([
  ['every verb', [], /src\/(commands|cli|verbs\/(add|del|check|gc|status)\.ts)|node_modules\/(?!valibot)/],
  ['ADD', ADD, /verbs\/(undo|reclaim|check|gc|status|del|foreign|nat)\.ts|host\/(sweep|iptables|trace-lines)\.ts/],
  ['DEL', ['src/verbs/del.ts'], /verbs\/(add|make|claim|check|gc|reclaim|foreign|nat)\.ts|host\/(apply|iptables)\.ts/],
] as const)('%s reads no part that it does not need each time', (_, entries, unwanted) => {
  const files = filesOf('src/plugin.ts', ...entries)
  const inputs = files.flatMap((name) => Object.entries(metafile.outputs[name]?.inputs ?? {}))
  const sources = inputs.flatMap(([source, { bytesInOutput }]) => (bytesInOutput > 0 ? [source] : []))
  expect(sources.length).toBeGreaterThan(10)
  expect(sources.filter((source) => unwanted.test(source))).toEqual([])
})

/** Loaded for those alone who ask for a log, a trace, or one of the operator's commands. */
const ON_REQUEST = ['src/cli.ts', 'src/host/log.ts', 'src/host/trace-lines.ts', 'src/host/journal.ts']

test('what the verbs load when it is needed is in the start image', () => {
  const plugin = readFileSync(join(root, 'src/plugin.ts'), 'utf8')
  const list = plugin.slice(plugin.indexOf('function parts'))
  const parts = Array.from(list.matchAll(/import\('\.\/(.*?)'\)/g), ([, path]) => `src/${path}`)
  const loaded = new Set<string>()
  const visit = (source: string): void => {
    if (loaded.has(source) || ON_REQUEST.includes(source)) return
    loaded.add(source)
    for (const name of filesOf(source)) {
      const { imports = [] } = metafile.outputs[name] ?? {}
      for (const { kind, path } of imports) {
        const entry = kind === 'dynamic-import' ? metafile.outputs[path]?.entryPoint : undefined
        if (entry) visit(entry)
      }
    }
  }
  visit('src/plugin.ts')
  loaded.delete('src/plugin.ts')
  expect(loaded.size).toBeGreaterThan(10)
  expect([...loaded].filter((source) => !parts.includes(source)).sort()).toEqual([])
})
