/**
 * `npm run release [-- FOLDER]`: the tarballs of a release, for both architectures, in dist/release/.
 *
 * The same commit on the same toolchain gives the same bytes: nothing of the time, the folder or the builder gets
 * in. SOURCE_DATE_EPOCH says otherwise what time the files bear; without it, it is the commit's.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { root } from './build/bundle.mjs'
import { buildQuickjs, targetOf } from './build/quickjs.mjs'
import { bundledPackages, cLibrary, licenceOf, quickjs } from './release/packages.mjs'
import { billOfMaterials } from './release/sbom.mjs'

const entry = join(root, 'src/plugin.ts')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const architectures = { amd64: 'x64', arm64: 'arm64' }
/** What goes into each tarball as it is. */
const files = ['LICENSE', 'README.md', 'CHANGELOG.md', 'conf', 'docs']

try {
  await release(resolve(root, process.argv[2] ?? 'dist/release'))
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : error}`)
  process.exit(1)
}

async function release(output) {
  const work = mkdtempSync(join(tmpdir(), 'pontoon-release-'))
  try {
    const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? commitTime())
    const packages = await bundledPackages(entry)
    mkdirSync(join(work, 'out'))
    for (const [name, arch] of Object.entries(architectures)) {
      requireCompiler(arch)
      const folder = join(work, name, `pontoon-${version}`)
      const others = [quickjs(), cLibrary(arch)]
      mkdirSync(join(folder, 'licences'), { recursive: true })
      await buildQuickjs({ entry, arch, output: join(folder, 'pontoon'), linking: 'static' })
      for (const file of files) cpSync(join(root, file), join(folder, file), { recursive: true })
      for (const one of packages) writeLicence(folder, one.name, licenceOf(one))
      for (const one of others) writeLicence(folder, one.name, one.text)
      const bill = billOfMaterials({ packages, others, version, epoch })
      writeFileSync(join(folder, 'sbom.cdx.json'), bill)
      const archive = `pontoon-${version}-linux-${name}`
      writeFileSync(join(work, 'out', `${archive}.cdx.json`), bill)
      pack({ from: join(work, name), to: join(work, 'out', `${archive}.tar.gz`), epoch })
    }
    const sums = readdirSync(join(work, 'out'))
      .sort()
      .map((name) => `${sha256(join(work, 'out', name))}  ${name}\n`)
    writeFileSync(join(work, 'out', 'SHA256SUMS'), sums.join(''))
    mkdirSync(output, { recursive: true })
    for (const name of readdirSync(output)) rmSync(join(output, name), { recursive: true })
    cpSync(join(work, 'out'), output, { recursive: true })
    console.log(sums.join('').trimEnd())
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function commitTime() {
  try {
    return execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, stdio: 'pipe', encoding: 'utf8' }).trim()
  } catch {
    throw new Error('this is no git checkout: set SOURCE_DATE_EPOCH')
  }
}

function requireCompiler(arch) {
  const { cc } = targetOf(arch)
  try {
    execFileSync(cc, ['--version'], { stdio: 'ignore' })
  } catch {
    throw new Error(`${cc} is missing: run scripts/setup release`)
  }
}

function writeLicence(folder, name, text) {
  writeFileSync(join(folder, 'licences', `${name.replace(/^@/, '').replace('/', '-')}.txt`), text)
}

/** Names sorted, no owner, one time, modes that no umask decides. */
function pack({ from, to, epoch }) {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']
  const tar = [
    '--format=gnu',
    '--sort=name',
    `--mtime=@${epoch}`,
    ...owner,
    '-C',
    from,
    '-cf',
    `${to}.part`,
    `pontoon-${version}`,
  ]
  execFileSync('tar', tar)
  execFileSync('gzip', ['-9', '-n', '-f', `${to}.part`])
  renameSync(`${to}.part.gz`, to)
}

function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
