/** Where commands print: stdout, in colours only on a terminal that wants them. */
import * as engine from '#engine'
import { coloured, type Paint, plain } from './text.ts'

export function print(text: string): void {
  engine.writeStdout(text.endsWith('\n') ? text : `${text}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2))
}

/** On a terminal, unless NO_COLOR is set to anything (no-color.org), or the terminal can't. */
export function paintHere(): Paint {
  if (engine.readEnv('NO_COLOR') || engine.readEnv('TERM') === 'dumb') return plain
  return isTerminal() ? coloured : plain
}

export function isTerminal(): boolean {
  try {
    return /^\/dev\/(pts\/|tty|console)/.test(engine.readLink('/proc/self/fd/1'))
  } catch {
    return false
  }
}
