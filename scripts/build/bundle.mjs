/** From TypeScript to one file of JavaScript, for either engine. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/**
 * SHA-512 and SHA-256 share a file, and its tables for the former cost each start a quarter of a millisecond. Few calls
 * need it: for them the file is a module of its own.
 */
const sha512Apart = {
  name: 'sha512-apart',
  setup({ onResolve, resolve: resolveAsIs }) {
    onResolve({ filter: /^@noble\/hashes\/sha2\.js$/ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (pluginData === 'as-is' || !importer.endsWith('/core/reference.ts')) return undefined
      const found = await resolveAsIs(path, { resolveDir, kind, pluginData: 'as-is' })
      return { path: found.path, suffix: '?sha512' }
    })
  },
}

/** What each engine asks of the bundler. */
const engines = {
  quickjs: {
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['qjs:*'],
    // A file for each part that is imported dynamically: the executable reads it only then.
    splitting: true,
    entryNames: 'pontoon',
  },
  node: {
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    // proper-lockfile asks for graceful-fs, which patches all of node:fs at start: 10 ms for a queue we have no use for.
    alias: { 'graceful-fs': 'node:fs' },
    define: { 'import.meta.url': '""' }, // asked for only where nothing is bundled
  },
}

/**
 * Bundles `entry` for an engine: for `node` into the one file `outfile`, in which dynamic imports are run when they are
 * asked for; for `quickjs` into the directory `outdir`, `pontoon.js` and the parts that it imports. Answers with the
 * names of the files, the entry first. Names are kept, so that a stack trace says something.
 */
export async function bundle(engine, { entry, outfile, outdir, define = {} }) {
  const { metafile } = await build({
    entryPoints: [entry],
    outfile,
    outdir,
    metafile: true,
    bundle: true,
    absWorkingDir: root,
    conditions: [engine, 'module', 'import'],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    charset: 'utf8',
    logLevel: 'warning',
    ...engines[engine],
    plugins: [sha512Apart],
    define: { ...versionConstants(), ...engines[engine].define, ...define },
  })
  // A part that is imported dynamically is called an entry point too.
  const isEntry = ([, { entryPoint }]) => entryPoint !== undefined && resolve(root, entryPoint) === resolve(root, entry)
  const outputs = Object.entries(metafile.outputs)
  return [...outputs.filter(isEntry), ...outputs.filter((output) => !isEntry(output))].map(([path]) => basename(path))
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
