/** What npm installs on a fresh Debian 12: its Node.js 18 starts npm; all else runs on the Node.js in node_modules. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Package {
  readonly optional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly engines?: { readonly node?: string }
}

const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'))
const packages = Object.entries(lock.packages as Readonly<Record<string, Package>>)

/** What is for no machine in particular is used by packages for other machines. */
const isForThisMachine = ({ os, cpu, libc }: Package) =>
  (os !== undefined || cpu !== undefined) &&
  [os, cpu, libc].every((list, i) => list === undefined || list.includes(['linux', 'x64', 'glibc'][i] as string))

/** Of the ranges that packages write: `>=18`, `>= 10.0.0`, `^20.19.0 || >=22.12.0`. */
const takesNode18 = (range: string) => range.split('||').some((part) => /^\s*(\*|>=\s*(\d|1[0-8])(\.|\s|$))/.test(part))

test('npm leaves out no optional package because its own Node.js is too old: else name it in devDependencies', () => {
  const left = packages.filter(
    ([, one]) => one.optional && isForThisMachine(one) && one.engines?.node && !takesNode18(one.engines.node),
  )
  expect(left.map(([path]) => path)).toEqual([])
})

test('what is named for that reason is the version that its user wants', () => {
  const { optionalDependencies } = lock.packages['node_modules/rolldown']
  const { devDependencies } = lock.packages['']
  const name = '@rolldown/binding-linux-x64-gnu'
  expect(devDependencies[name]).toBe(optionalDependencies[name])
})
