/** Where the time of a call goes: with PONTOON_TRACE=1, one line on stderr for each step. Off, a mark does nothing. */
let write: ((step: string) => void) | undefined

/** To be called once, first of all. */
export async function startTrace(): Promise<void> {
  write = (await import('./trace-lines.ts')).createWriter()
  mark('the engine runs')
}

/** Notes that a step has ended. */
export function mark(step: string): void {
  write?.(step)
}
