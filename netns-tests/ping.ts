/** Whether packets go from one place to another and back. */
import type { Lab } from './lab.ts'

/**
 * @param from a namespace of the lab; undefined: the node
 * @param seconds how long an answer is waited for: many, where there is to be one, which a busy machine may delay
 */
export function ping(lab: Lab, from: string | undefined, to: string, seconds = 20): boolean {
  const inside = from === undefined ? [] : ['ip', 'netns', 'exec', from]
  return lab.run([...inside, 'ping', '-nqc1', `-W${seconds}`, to]).status === 0
}

/** Is there no answer? A second is long enough for one that there could be, as each of these tests shows beside it. */
export const isSilent = (lab: Lab, from: string, to: string): boolean => !ping(lab, from, to, 1)
