/** How far long work has come: one line on stderr, over and over, where somebody looks at it. */
import * as engine from '#engine'
import { inLocale, isTerminal } from './output.ts'

/** Milliseconds that work may take in silence, and between two lines. */
const PATIENCE = 500
const PAUSE = 100

let begun: number | undefined
let told = 0

export function tellProgress(text: string): void {
  if (!isTerminal(2)) return
  const now = engine.monotonic()
  begun ??= now
  if (now - begun < PATIENCE || now - told < PAUSE) return
  told = now
  engine.writeStderr(inLocale(`\r\u001b[K${text} …`))
}

/** The line is wiped away: what comes is the result. */
export function endProgress(): void {
  if (told > 0) engine.writeStderr('\r\u001b[K')
  begun = undefined
  told = 0
}
