/**
 * `dist/pontoon`: the bundle as bytecode in a C program, linked with the quickjs-ng engine.
 *
 * The engine is compiled once per version, architecture and set of flags, and kept below the user's cache directory.
 * It is linked statically, and to fixed addresses, which the start image needs (image.h): so it runs on machines with an
 * older glibc, or with none. `PONTOON_LINK=dynamic` asks otherwise: smaller, without a start image, and slower.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bundle, root } from './bundle.mjs'
import { cacheDirectory, quickjsSource } from './quickjs-source.mjs'

const run = promisify(execFile)

/**
 * What is changed in the engine's quickjs.c for the start image (frozen.h): a text that is there once, and its
 * replacement. Slabs, which small memory is cut from, get smaller: there are 31 kinds of them, and an ADD uses all.
 */
const enginePatch = [
  ['#define JS_ARENA_SIZE              4096', '#define JS_ARENA_SIZE 1024'],
  ['#define JS_REF_COUNT(p) (js_rc(p)->ref_count)', '#define JS_REF_COUNT(p) (*count_of(&js_rc(p)->ref_count))'],
  [
    'static void js_arena_free(JSRuntime *rt, void *ptr)\n{\n    JSMallocBlockHeader *b;\n\n    if (!ptr)',
    'static void js_arena_free(JSRuntime *rt, void *ptr)\n{\n    JSMallocBlockHeader *b;\n\n    if (!ptr || is_frozen(ptr))',
  ],
]
const engineAddition = 'void JS_ForgetSlabs(JSRuntime *rt) { js_arena_init(rt); }'
const engineFiles = ['quickjs', 'quickjs-libc', 'libregexp', 'libunicode', 'dtoa']
const compileFlags = [
  '-O3',
  '-fno-pie',
  '-DNDEBUG',
  '-D_GNU_SOURCE',
  '-funsigned-char',
  '-fwrapv',
  '-ffunction-sections',
  '-fdata-sections',
]
const shim = (name) => join(root, 'scripts/build', `${name}.c`)
const libraries = ['-lm', '-lpthread', '-ldl']
const linkFlags = [
  '-no-pie',
  '-Wl,--gc-sections',
  '-Wl,--wrap=poll,--wrap=gettimeofday,--wrap=clock_gettime',
  ...libraries,
]
const staticFlags = ['-static', shim('static'), '-Wl,--wrap=dlsym,--wrap=dlopen,--wrap=dlerror']
/** Far from all else, so that nothing moves when the image gets its size; and the room to make it in, in bytes. */
const imageAddress = '0x10000000'
const imageRoom = 64 << 20

/** The tools of an architecture. The compiler `qjsc` always runs here: its bytecode is the same for both. */
export function targetOf(arch) {
  const here = { x64: 'x86_64', arm64: 'aarch64' }
  if (!Object.hasOwn(here, arch)) throw new Error(`no target for the architecture ${arch}`)
  const prefix = arch === process.arch ? '' : `${here[arch]}-linux-gnu-`
  const cc = process.env.CC && prefix === '' ? process.env.CC : `${prefix}gcc`
  const emulate = (program, ...args) =>
    prefix === '' ? [program, args] : [`qemu-${here[arch]}-static`, [program, ...args]]
  return { arch, cc, strip: `${prefix}strip`, nm: `${prefix}nm`, emulate }
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
    const link = await compileProgram({ work, target, engine, include: ['-I', source.directory, '-I', work] })
    if (linking === 'dynamic') await link(made, linkFlags)
    else if (canFreeze(source)) await linkWithImage(target, work, made, link)
    else {
      console.warn(
        `build: quickjs-ng ${source.version} is not as expected: no start image, and every call takes longer`,
      )
      await link(made, [...staticFlags, ...linkFlags])
    }
    await run(target.strip, ['-s', made])
    await run('mv', ['-f', made, output]) // another file system, perhaps; and it may be running
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Compiles the program's own C; answers with what links it: to a file, with flags, and an image as image.S takes it. */
async function compileProgram({ work, target, engine, include }) {
  const names = ['main', 'image', 'frozen', 'native', 'spawn', 'poll']
  const object = (name) => join(work, `${name}.o`)
  const waits = process.env.PONTOON_SPAWN === 'wait' ? ['-DSPAWN_WAITS'] : []
  const compile = (name) =>
    run(target.cc, ['-O2', '-fno-pie', ...waits, ...include, '-c', '-o', object(name), shim(name)])
  await Promise.all(names.map(compile))
  return async (output, flags, image = []) => {
    await run(target.cc, ['-c', ...image, '-o', object('room'), join(root, 'scripts/build/image.S')])
    await run(target.cc, ['-o', output, ...names.map(object), object('room'), ...engine.objects, ...flags])
  }
}

/** Links twice: a program that makes the image, and the one that holds it. */
async function linkWithImage(target, work, output, link) {
  const flags = [...staticFlags, ...linkFlags, `-Wl,--section-start=.image=${imageAddress}`]
  const maker = join(work, 'maker')
  await link(maker, flags, [`-DROOM=${imageRoom}`])
  // Twice: the kernel gives each process other addresses, and the C library picks other functions for a lesser
  // processor. What differs refers to something outside of the image.
  const lesser = { GLIBC_TUNABLES: 'glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-SSE4_2,-SSE4_1,-SSSE3,-ERMS' }
  const images = ['image', 'again'].map((name) => join(work, `${name}.bin`))
  await runMaker(target.emulate(maker, images[0]), process.env)
  await runMaker(target.emulate(maker, images[1]), { ...process.env, ...lesser })
  const [first, second] = images.map((image) => readFileSync(image))
  if (!first.equals(second)) throw new Error('the start image is not the same when it is made twice')
  await link(output, flags, [`-DIMAGE="${images[0]}"`])
  const [before, after] = await Promise.all([maker, output].map((file) => addresses(target, file)))
  if (before !== after) throw new Error('the program that makes the start image and the one that holds it differ')
}

async function runMaker([program, words], env) {
  try {
    await run(program, words, { env })
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    throw new Error(`${program} is missing, which runs programs of the other architecture: run scripts/setup release`)
  }
}

/** Where everything is that the image may refer to. */
async function addresses({ nm }, file) {
  const { stdout } = await run(nm, [file], { maxBuffer: 1 << 26 })
  return stdout.replace(/^.* (image_begin|image_end)$/gm, '')
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

/** Has the engine the lines that the start image has to change? Another version may not. */
function canFreeze({ directory }) {
  const text = readFileSync(join(directory, 'quickjs.c'), 'utf8')
  return enginePatch.every(([from]) => text.split(from).length === 2)
}

/** The engine's source as the start image needs it, or as it is when it can't be had. */
function readEngine(source) {
  const text = readFileSync(join(source.directory, 'quickjs.c'), 'utf8')
  if (!canFreeze(source)) return text
  return enginePatch.reduce((changed, [from, to]) => changed.replace(from, to), `${text}\n${engineAddition}\n`)
}

async function linkCompiler(target, work, objects) {
  const qjsc = join(work, 'qjsc')
  const withoutImage = [shim('frozen'), '-Wl,--defsym=image_begin=0']
  await run(target.cc, ['-no-pie', '-o', qjsc, `${qjsc}.o`, ...objects, ...withoutImage, ...libraries])
}

async function compileObjects(source, target) {
  const frozen = readFileSync(join(root, 'scripts/build/frozen.h'), 'utf8')
  const flagsKey = createHash('sha256')
    .update([target.cc, ...compileFlags, ...enginePatch.flat(), engineAddition, frozen, 'prefix-map'].join(' '))
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
    writeFileSync(join(work, 'quickjs.c'), readEngine(source))
    const include = ['-I', source.directory, '-include', join(root, 'scripts/build/frozen.h')]
    const compile = (name) => {
      const file = join(name === 'quickjs' ? work : source.directory, `${name}.c`)
      return run(target.cc, [...compileFlags, prefix, ...include, '-c', file, '-o', join(work, `${name}.o`)])
    }
    const native = target.arch === process.arch
    await Promise.all([...engineFiles, ...(native ? ['qjsc'] : [])].map(compile))
    if (native) await linkCompiler(target, work, files(work))
    if (!existsSync(directory)) renameSync(work, directory)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return { directory, files: files(directory) }
}
