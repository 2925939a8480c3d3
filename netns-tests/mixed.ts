/** Labs in which the reference plugins are beside Pontoon, on the same store. */
import type { Executable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import type { Call } from './plugin.ts'
import { REFERENCE } from './reference.ts'

/** The reference plugins are in /run/reference, its `bridge` calling its own `host-local`. */
export async function openMixedLab(executable: Executable): Promise<Lab> {
  if (REFERENCE === undefined) {
    throw new Error('the reference plugins are missing: run netns-tests/clients/cnitool.sh once')
  }
  const lab = await openLab(executable)
  lab.must('sh', '-ec', `mkdir /run/reference; mount --bind ${REFERENCE} /run/reference`)
  return lab
}

export const byReference: Call = { exe: '../../../run/reference/bridge', path: '/run/reference' }

/** What the verbs need no tool for: `nft` and `iptables` as if they were not installed. */
export function hide(lab: Lab, ...tools: readonly string[]): void {
  for (const tool of tools) lab.must('sh', '-ec', `mount --bind /dev/null "$(readlink -f "$(command -v ${tool})")"`)
}
