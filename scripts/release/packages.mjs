/** What is inside the executable besides this source: the npm packages of the bundle, the engine, the C library. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from '../build/bundle.mjs'
import { quickjsSource } from '../build/quickjs-source.mjs'

/** The packages that a file of theirs came into the bundle from: exactly those, not all that were installed. */
export async function bundledPackages(entry) {
  const { metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['quickjs', 'module', 'import'],
    external: ['qjs:*'],
    outdir: 'unused',
    splitting: true,
    logLevel: 'error',
  })
  // What tree shaking left nothing of is an input all the same, but in no output.
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  )
  const folders = used.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? [])
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version, license, author } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    return { name, version, license, author: author?.name ?? author, folder: join(root, folder) }
  })
}

/** The text that a package asks to be passed on with it. */
export function licenceOf({ name, license, author, folder }) {
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
  if (file) return readFileSync(join(folder, file), 'utf8')
  if (license !== 'Apache-2.0') throw new Error(`${name} brings no text of its licence ${license}`)
  return `${name}, by ${author ?? 'its authors'}, is under the Apache License, Version 2.0: the text is in LICENSE.\n`
}

/** The engine's sources each begin with their licence and authors. */
export function quickjs() {
  const { directory, version } = quickjsSource()
  const heads = ['quickjs', 'quickjs-libc', 'libregexp', 'libunicode', 'dtoa'].map((name) => {
    const text = readFileSync(join(directory, `${name}.c`), 'utf8')
    return text.slice(0, text.indexOf('*/') + 3)
  })
  return { name: 'quickjs-ng', version, license: 'MIT', text: [...new Set(heads)].join('\n') }
}

/** The C library that is linked in, as Debian's package of this architecture tells of it. */
export function cLibrary(arch) {
  const names = arch === process.arch ? ['libc6-dev', 'libc6'] : [`libc6-dev-${arch}-cross`]
  const name = names.find((one) => existsSync(`/usr/share/doc/${one}/copyright`))
  if (!name) throw new Error(`no package ${names.join(' or ')} with a copyright file: run scripts/setup release`)
  const version = execFileSync('dpkg-query', ['-W', '-f', `\${Version}`, name], { encoding: 'utf8' })
  const text = readFileSync(`/usr/share/doc/${name}/copyright`, 'utf8')
  return { name: 'glibc', version: version.replace(/cross\d+$/, ''), license: 'LGPL-2.1-or-later', text }
}
