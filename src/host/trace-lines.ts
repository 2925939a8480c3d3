/** The lines of a trace; loaded only for one. */
import * as engine from '#engine'

/** `pontoon:    4.312 ms    1.204 ms  reserved`: milliseconds since the start, those of the step alone, the step. */
export function createWriter(): (step: string) => void {
  const start = engine.monotonic()
  let last = start
  return (step) => {
    const now = engine.monotonic()
    engine.writeStderr(`pontoon: ${columnOf(now - start)} ms ${columnOf(now - last)} ms  ${step}\n`)
    // What it takes to write a line is no step's.
    last = engine.monotonic()
  }
}

function columnOf(milliseconds: number): string {
  return milliseconds.toFixed(3).padStart(8)
}
