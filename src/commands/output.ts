/** Where commands print: stdout, in colours only on a terminal that wants them. */
import * as engine from '#engine'
import { ascii, coloured, type Paint, plain } from './text.ts'

/** For people: in signs that their locale has. False when nobody reads it any more. */
export function print(text: string): boolean {
  return printAsItIs(inLocale(text))
}

/** For programs: always UTF-8. */
export function printAsItIs(text: string): boolean {
  return engine.writeStdout(text.endsWith('\n') ? text : `${text}\n`)
}

export function printJson(value: unknown): boolean {
  return printAsItIs(JSON.stringify(value, undefined, 2))
}

/** A locale that says so is taken at its word; where none is set, UTF-8 is what terminals have. */
export function inLocale(text: string): string {
  const locale = ['LC_ALL', 'LC_CTYPE', 'LANG'].map((name) => engine.readEnv(name)).find(Boolean) ?? ''
  return locale === '' || /utf-?8/i.test(locale) ? text : ascii(text)
}

/** On a terminal, unless NO_COLOR is set to anything (no-color.org), or the terminal can't. */
export function paintHere(): Paint {
  if (engine.readEnv('NO_COLOR') || engine.readEnv('TERM') === 'dumb') return plain
  return isTerminal() ? coloured : plain
}

/** Columns of the terminal that somebody reads on; undefined where nobody does, or it does not say. */
export async function terminalWidth(): Promise<number | undefined> {
  if (!isTerminal()) return undefined
  const said = Number(engine.readEnv('COLUMNS') || (await askTerminal()))
  return said >= 20 ? said : undefined
}

async function askTerminal(): Promise<string> {
  const { runShell } = await import('../host/inspect.ts')
  const { status, stdout } = await runShell('stty size </dev/tty')
  return status === 0 ? (stdout.trim().split(' ')[1] ?? '') : ''
}

/** All of stdin. Who is asked for it at a terminal, by a slip perhaps, is told so: else it looks as if nothing went on. */
export function readInput(what: string, limit: number): string {
  if (isTerminal(0)) engine.writeStderr(inLocale(`pontoon: reading ${what} from the terminal; Ctrl-D ends it\n`))
  return engine.readStdin(limit)
}

export function isTerminal(descriptor: 0 | 1 | 2 = 1): boolean {
  try {
    return /^\/dev\/(pts\/|tty|console)/.test(engine.readLink(`/proc/self/fd/${descriptor}`))
  } catch {
    return false
  }
}
