/** The executables under test: the built ones, or those that PONTOON_EXE names (a comma list of paths). */
import { existsSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { describe } from 'vitest'

export interface Executable {
  readonly name: string
  /** A file that plays every role; or a folder of plugins, its `bridge` standing for `pontoon` then. */
  readonly path: string
  readonly isFolder: boolean
}

const root = join(import.meta.dirname, '..')

export function executables(): readonly Executable[] {
  const paths = process.env.PONTOON_EXE?.split(',').filter((path) => path !== '') ?? [
    'dist/pontoon',
    'dist/pontoon-node',
  ]
  return paths.map((given) => {
    const path = resolve(root, given)
    return { name: basename(path), path, isFolder: existsSync(path) && statSync(path).isDirectory() }
  })
}

/** Runs a group of tests once for each executable. One that was not built fails its tests, it is not skipped. */
export function forEachExecutable(tests: (executable: Executable) => void): void {
  describe.each(executables())('$name', tests)
}
