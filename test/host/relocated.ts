/** The engine on Node with real files, /run/pontoon in a temporary folder, and errors where a test wants them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach } from 'vitest'
import { FileError } from '../../src/engine/engine.ts'
import * as node from '../../src/engine/node.ts'
import { orAbsent } from './absent.ts'

const top = mkdtempSync(join(tmpdir(), 'pontoon-test-'))
let count = 0
/** A folder of the running test. */
export let folder = top
/** What fails, as `operation path` with the path's end alone, and with which errno. */
export const broken = new Map<string, string>()

/** To be called once in a test file. */
export function useTemporaryFolders(): void {
  beforeEach(() => {
    folder = join(top, String(count++))
    mkdirSync(folder)
    broken.clear()
  })
  afterAll(() => rmSync(top, { recursive: true }))
}

/** Where a path leads to in the tests. */
export function moved(path: string): string {
  return path.startsWith('/run/') ? folder + path : path
}

function wrap<R, A extends unknown[]>(operation: string, action: (path: string, ...rest: A) => R) {
  return (path: string, ...rest: A): R => {
    for (const [failing, code] of broken) {
      const [of, end = ''] = failing.split(' ')
      if (of === operation && path.endsWith(end)) throw new FileError(code, operation, path)
    }
    return action(moved(path), ...rest)
  }
}

const readFile = wrap('read', node.readFile)
const stat = wrap('stat', node.stat)

export const engine = {
  ...node,
  readFile,
  readIfThere: orAbsent(readFile),
  createFile: wrap('create', node.createFile),
  overwriteFile: wrap('overwrite', node.overwriteFile),
  rename: wrap('rename', (from: string, to: string) => node.rename(from, moved(to))),
  removeFile: wrap('remove', node.removeFile),
  makeDirectory: wrap('make', node.makeDirectory),
  listDirectory: wrap('list', node.listDirectory),
  stat,
  statIfThere: orAbsent(stat),
  lock: wrap('lock', node.lock),
}
