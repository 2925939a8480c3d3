/** From TypeScript to one file of JavaScript, for either engine. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** See there. */
function lazyAlias() {
  return { 'ip-address': join(root, 'scripts/build/lazy-ip-address.mjs') }
}

/** What each engine asks of the bundler. */
const engines = {
  quickjs: {
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['qjs:*'],
    alias: lazyAlias(),
  },
  node: {
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    // proper-lockfile asks for graceful-fs, which patches all of node:fs at start: 10 ms for a queue we have no use for.
    alias: { 'graceful-fs': 'node:fs', ...lazyAlias() },
    define: { 'import.meta.url': '""' }, // asked for only where nothing is bundled
  },
}

/**
 * Bundles `entry` for an engine (`quickjs` or `node`) into `outfile`.
 * Names are kept, so that a stack trace says something.
 */
export async function bundle(engine, { entry, outfile, define = {} }) {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    absWorkingDir: root,
    conditions: [engine, 'module', 'import'],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    charset: 'utf8',
    logLevel: 'warning',
    ...engines[engine],
    define: { ...versionConstants(), ...engines[engine].define, ...define },
  })
}

/** The constants that src/core/build-info.ts reads. */
function versionConstants() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return { PONTOON_VERSION: JSON.stringify(version), PONTOON_COMMIT: JSON.stringify(commit()) }
}

function commit() {
  try {
    const git = (...args) => execFileSync('git', args, { cwd: root, stdio: 'pipe', encoding: 'utf8' }).trim()
    return git('rev-parse', '--short=12', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '-dirty')
  } catch {
    return 'unknown' // a source archive has no history
  }
}
