/**
 * `dist/pontoon`: the bundle as bytecode in a C program, linked with the quickjs-ng engine.
 *
 * The engine is compiled once per version, architecture and set of flags, and kept below the user's cache directory.
 * It is linked statically: a megabyte larger, it starts a fifth faster, and runs on machines with an older glibc, or
 * with none. `PONTOON_LINK=dynamic` asks otherwise.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bundle, root } from './bundle.mjs'
import { cacheDirectory, quickjsSource } from './quickjs-source.mjs'

const run = promisify(execFile)

const engineFiles = ['quickjs', 'quickjs-libc', 'libregexp', 'libunicode', 'dtoa']
const compileFlags = ['-O3', '-D_GNU_SOURCE', '-funsigned-char', '-fwrapv', '-ffunction-sections', '-fdata-sections']
const shim = (name) => join(root, 'scripts/build', `${name}.c`)
const libraries = ['-lm', '-lpthread', '-ldl']
const linkFlags = ['-Wl,--gc-sections', '-Wl,--wrap=poll', shim('poll'), ...libraries]
const staticFlags = ['-static-pie', shim('static'), '-Wl,--wrap=dlsym,--wrap=dlopen,--wrap=dlerror']

/** The tools of an architecture. The compiler `qjsc` always runs here: its bytecode is the same for both. */
export function targetOf(arch) {
  const here = { x64: 'x86_64', arm64: 'aarch64' }
  if (!Object.hasOwn(here, arch)) throw new Error(`no target for the architecture ${arch}`)
  const prefix = arch === process.arch ? '' : `${here[arch]}-linux-gnu-`
  return { arch, cc: process.env.CC && prefix === '' ? process.env.CC : `${prefix}gcc`, strip: `${prefix}strip` }
}

/** Bundles `entry`, compiles it and links the executable `output`. `linking` is `dynamic` or anything else. */
export async function buildQuickjs({ entry, output, arch = process.arch, linking = process.env.PONTOON_LINK }) {
  const source = quickjsSource()
  const target = targetOf(arch)
  const engine = await compileEngine(source, target)
  const work = mkdtempSync(join(tmpdir(), 'pontoon-build-'))
  try {
    const define = { QUICKJS_VERSION: JSON.stringify(source.version) }
    const names = await bundle('quickjs', { entry, outdir: work, define })
    await compileModules(engine.qjsc, work, names)
    const made = join(work, 'pontoon')
    const flags = linking === 'dynamic' ? linkFlags : [...staticFlags, ...linkFlags]
    const include = ['-I', source.directory, '-I', work]
    await run(target.cc, ['-O1', ...include, '-o', made, shim('main'), shim('spawn'), ...engine.objects, ...flags])
    await run(target.strip, ['-s', made])
    await run('mv', ['-f', made, output]) // another file system, perhaps; and it may be running
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Makes `modules.c`: the bytecode of each module, and the list of them. */
async function compileModules(qjsc, work, names) {
  // Declared to be written in C, or the compiler would follow the imports and put every module in once more.
  const others = names.slice(1).flatMap((name) => ['-M', `${name},other`])
  await run(qjsc, ['-m', '-s', ...others, '-o', 'modules.c', ...names], { cwd: work })
  const entries = names.map((name) => {
    const identifier = `qjsc_${name.replace(/\.js$/, '').replace(/[^a-zA-Z0-9]/g, '_')}`
    return `{ "${name}", ${identifier}, sizeof(${identifier}) }`
  })
  appendFileSync(join(work, 'modules.c'), `#define MODULES ${entries.join(', ')}\n`)
}

/** The object files for the target, and a `qjsc` that runs here. */
async function compileEngine(source, target) {
  const objects = await compileObjects(source, target)
  const native = target.arch === process.arch ? objects : await compileObjects(source, targetOf(process.arch))
  const qjsc = join(native.directory, 'qjsc')
  return { objects: objects.files, qjsc }
}

async function compileObjects(source, target) {
  const flagsKey = createHash('sha256')
    .update([target.cc, ...compileFlags, 'prefix-map'].join(' '))
    .digest('hex')
    .slice(0, 8)
  const home = join(cacheDirectory(), 'quickjs-ng', 'objects')
  const directory = join(home, `${source.key}-${target.arch}-${flagsKey}`)
  const files = (where) => engineFiles.map((name) => join(where, `${name}.o`))
  if (existsSync(directory)) return { directory, files: files(directory) }

  console.log(`build: compiling quickjs-ng ${source.version} for ${target.arch} (once, about a minute)`)
  mkdirSync(home, { recursive: true })
  const work = mkdtempSync(join(home, '.compile-'))
  try {
    // The engine names its own files when it fails: not by where they were on the machine that built it.
    const prefix = `-ffile-prefix-map=${source.directory}=quickjs-ng`
    const compile = (name) =>
      run(target.cc, [
        ...compileFlags,
        prefix,
        '-c',
        join(source.directory, `${name}.c`),
        '-o',
        join(work, `${name}.o`),
      ])
    const native = target.arch === process.arch
    await Promise.all([...engineFiles, ...(native ? ['qjsc'] : [])].map(compile))
    if (native) await run(target.cc, ['-o', join(work, 'qjsc'), join(work, 'qjsc.o'), ...files(work), ...libraries])
    if (!existsSync(directory)) renameSync(work, directory)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return { directory, files: files(directory) }
}
