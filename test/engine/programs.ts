/** Bundles the contract's program for both engines, with the functions that the build uses. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle, root } from '../../scripts/build/bundle.mjs'
import { buildQuickjs } from '../../scripts/build/quickjs.mjs'

export interface Program {
  readonly engine: 'node' | 'quickjs' | 'quickjs, static'
  /** How it is started: the words of its operation come after these. */
  readonly command: readonly [string, ...string[]]
}

export const directory = mkdtempSync(join(tmpdir(), 'pontoon-engine-'))
const entry = join(root, 'test/engine/contract-program.ts')

export async function buildPrograms(): Promise<readonly Program[]> {
  const node = join(directory, 'contract.cjs')
  const quickjs = join(directory, 'contract')
  const quickjsStatic = join(directory, 'contract-static')
  await bundle('node', { entry, outfile: node })
  await buildQuickjs({ entry, output: quickjs, linking: 'dynamic' })
  await buildQuickjs({ entry, output: quickjsStatic, linking: 'static' })
  return [
    { engine: 'node', command: [process.execPath, node] },
    { engine: 'quickjs', command: [quickjs] },
    { engine: 'quickjs, static', command: [quickjsStatic] },
  ]
}

export function removePrograms(): void {
  rmSync(directory, { recursive: true, force: true })
}
