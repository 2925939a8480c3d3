/**
 * The C source of quickjs-ng: from `QUICKJS_SRC`, or from Debian's unstable release as the package `qjs-src`,
 * without touching the system's package sources. What was fetched is kept, so that only the first build needs a network.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const pinned = {
  package: '0.17.0-1',
  sha256: '04631979bdadaccffd76c1cb0aff5d07389aa889a90b6a902eba858a3a3b3988',
}
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

export function cacheDirectory() {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'pontoon')
}

/** Resolves to the directory of the source, the engine's version, and a key that stands for exactly this source. */
export function quickjsSource() {
  const own = process.env.QUICKJS_SRC
  if (own) {
    if (!existsSync(join(own, 'quickjs.c'))) throw new Error(`QUICKJS_SRC: no quickjs.c in ${own}`)
    return describe(own)
  }
  const home = join(cacheDirectory(), 'quickjs-ng', 'source')
  const wanted = join(home, directoryName(pinned.package, pinned.sha256))
  if (existsSync(wanted)) return describe(wanted)
  const instead = readdirSyncOr(home).find((name) => name.startsWith('newest_'))
  const directory = instead ? join(home, instead) : fetchSource(home)
  if (directory !== wanted) {
    console.warn(`build: qjs-src ${pinned.package} is not to be had; building with ${directory.split('/').at(-1)}`)
  }
  return describe(directory)
}

function describe(directory) {
  const hash = createHash('sha256')
  for (const name of readdirSync(directory).sort()) {
    if (/\.[ch]$/.test(name))
      hash
        .update(name)
        .update('\0')
        .update(readFileSync(join(directory, name)))
  }
  const header = readFileSync(join(directory, 'quickjs.h'), 'utf8')
  const number = (part) => new RegExp(`define QJS_VERSION_${part}\\s+(\\d+)`).exec(header)?.[1] ?? '0'
  const version = ['MAJOR', 'MINOR', 'PATCH'].map(number).join('.')
  return { directory, version, key: `${version}-${hash.digest('hex').slice(0, 12)}` }
}

function fetchSource(home) {
  mkdirSync(home, { recursive: true })
  const work = mkdtempSync(join(home, '.fetch-'))
  try {
    const apt = aptOf(work)
    apt('update')
    let isPinned = true
    try {
      apt('download', `qjs-src=${pinned.package}`)
    } catch {
      isPinned = false
      apt('download', 'qjs-src')
    }
    const archive = readdirSync(work).find((name) => name.endsWith('.deb'))
    if (!archive) throw new Error('apt-get downloaded no qjs-src')
    const sha256 = createHash('sha256')
      .update(readFileSync(join(work, archive)))
      .digest('hex')
    if (isPinned && sha256 !== pinned.sha256) throw new Error(`${archive}: sha256 is ${sha256}, not ${pinned.sha256}`)
    execFileSync('dpkg-deb', ['-x', join(work, archive), join(work, 'x')])
    const version = /^qjs-src_(.+)_all\.deb$/.exec(archive)?.[1] ?? 'unknown'
    const target = join(home, (isPinned ? '' : 'newest_') + directoryName(version, sha256))
    // Two builds at once may both get here: the second finds the first one's work and is content with it.
    if (!existsSync(target)) renameSync(join(work, 'x/usr/src/quickjs-ng'), target)
    return target
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function directoryName(version, sha256) {
  return `${decodeURIComponent(version).replace(/[^\w.+~-]/g, '_')}-${sha256.slice(0, 12)}`
}

/** apt-get with lists, cache and sources of its own below `work`. */
function aptOf(work) {
  for (const name of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(work, name), { recursive: true })
  writeFileSync(join(work, 'sources.list'), `deb [signed-by=${keyring}] ${debianMirror()} sid main\n`)
  const options = {
    'Dir::Etc::sourcelist': join(work, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State::Lists': join(work, 'lists'),
    'Dir::Cache': join(work, 'cache'),
    'Debug::NoLocking': 'true',
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
  }
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  return (...args) => {
    try {
      execFileSync('apt-get', ['-q', ...flags, ...args], { cwd: work, stdio: 'pipe' })
    } catch (error) {
      const said = error.stderr?.toString().trim().split('\n').slice(-3).join('; ') || error.message
      throw new Error(`apt-get ${args.join(' ')}: ${said} (QUICKJS_SRC=<directory> brings the source without it)`)
    }
  }
}

/** The mirror that this machine already gets Debian from. */
function debianMirror() {
  const directory = '/etc/apt/sources.list.d'
  const files = ['/etc/apt/sources.list', ...readdirSyncOr(directory).map((name) => join(directory, name))]
  const text = files.map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')).join('\n')
  const uris = text.matchAll(/^(?:deb\s+(?:\[[^\]]*\]\s+)?|URIs:\s*)(\S+)/gm)
  for (const [, uri] of uris) {
    if (/\/debian\/?$/.test(uri)) return uri
  }
  throw new Error(
    'no Debian mirror in the package sources of this machine: set QUICKJS_SRC to the source of quickjs-ng',
  )
}

function readdirSyncOr(directory) {
  return existsSync(directory) ? readdirSync(directory) : []
}
