/**
 * `npm run build [-- quickjs|node …]`: makes `dist/pontoon` (quickjs-ng) and `dist/pontoon-node` (Node.js).
 * Plain JavaScript for Node.js 18 or newer, since it runs before anything is built.
 */
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './build/bundle.mjs'
import { buildNode } from './build/node.mjs'
import { buildQuickjs } from './build/quickjs.mjs'

const builders = {
  quickjs: { build: buildQuickjs, file: 'pontoon' },
  node: { build: buildNode, file: 'pontoon-node' },
}

const wanted = process.argv.slice(2)
const unknown = wanted.find((name) => !Object.hasOwn(builders, name))
if (unknown !== undefined) {
  console.error(`build: no such engine: ${unknown} (there are: ${Object.keys(builders).join(', ')})`)
  process.exit(2)
}

mkdirSync(join(root, 'dist'), { recursive: true })
for (const name of wanted.length > 0 ? wanted : Object.keys(builders)) {
  const { build, file } = builders[name]
  const started = Date.now()
  try {
    await build({ entry: join(root, 'src/plugin.ts'), output: join(root, 'dist', file) })
  } catch (error) {
    console.error(`build: ${name}: ${error instanceof Error ? error.message : error}`)
    process.exit(1)
  }
  const kilobytes = Math.round(statSync(join(root, 'dist', file)).size / 1000)
  console.log(`dist/${file}  ${kilobytes} kB  (${((Date.now() - started) / 1000).toFixed(1)} s)`)
}
