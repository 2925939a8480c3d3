/** Waiting for what others do, for as long as it takes: a time that is just enough here is too short on a busy machine. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lab } from './lab.ts'

/** In milliseconds; less than a test may take, so that the failure tells what was waited for. */
const LONGEST = 60_000

/** @throws when it is never so, with what is there in its place */
export async function until(isSo: () => boolean, found: () => string): Promise<void> {
  const deadline = performance.now() + LONGEST
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`waited in vain; there is: ${found()}`)
    await sleep(20)
  }
}

/** Waits until a program in the background has said this. */
export const said = (program: { readonly output: () => string }, text: string | RegExp): Promise<void> =>
  until(() => program.output().search(text) >= 0, program.output)

/** Waits until every program that was started in the lab has ended: a killed one may take a moment. */
export const allEnded = (lab: Lab): Promise<void> =>
  until(
    () => lab.processes().length === 0,
    () => lab.processes().join('\n'),
  )

/** Holds a lock of flock(2) until the lab closes, or `stop` is called; it is held from now on. */
export async function holdLock(lab: Lab, path: string): Promise<{ readonly stop: () => void }> {
  const holder = lab.background('flock', '--no-fork', path, 'sleep', 'infinity')
  await until(() => isHeld(lab, path), holder.output)
  return holder
}

export const isHeld = (lab: Lab, path: string): boolean =>
  lab.run(['flock', '--nonblock', '--conflict-exit-code', '9', path, 'true']).status === 9
