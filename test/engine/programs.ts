/** Bundles the contract's program for both engines, with the functions that the build uses. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle, root } from '../../scripts/build/bundle.mjs'
import { buildQuickjs } from '../../scripts/build/quickjs.mjs'

export interface Program {
  readonly engine: 'node' | 'quickjs'
  /** How it is started: the words of its operation come after these. */
  readonly command: readonly [string, ...string[]]
}

export const directory = mkdtempSync(join(tmpdir(), 'pontoon-engine-'))
const entry = join(root, 'test/engine/contract-program.ts')

export async function buildPrograms(): Promise<readonly Program[]> {
  const node = join(directory, 'contract.cjs')
  const quickjs = join(directory, 'contract')
  await Promise.all([bundle('node', { entry, outfile: node }), buildQuickjs({ entry, output: quickjs })])
  return [
    { engine: 'node', command: [process.execPath, node] },
    { engine: 'quickjs', command: [quickjs] },
  ]
}

export function removePrograms(): void {
  rmSync(directory, { recursive: true, force: true })
}
