/**
 * Lines for the tools, built from words that are checked.
 *
 * `ip -batch` splits at white space, cuts at `#`, honours quotes and backslashes, and takes a newline for the next
 * command: an unchecked name would be a command run as root. So a value must be one plain word, and a name that
 * could be read as an option is refused.
 */
import { CODE, Fault } from './fault.ts'

export type Word = string | number

/** Printable ASCII without `"`, `#`, `'` and `\`, and no `-` in front. */
const PLAIN = /^(?!-)[!$-&(-[\]-~]+$/

/** True for a value that a tool's line can hold: printable ASCII, none of `#"'\`, not an option. */
export function isPlainWord(value: string): boolean {
  return PLAIN.test(value)
}

/**
 * Template tag: `line\`link set dev ${name} up\`` is the line, once each value is known to be one plain word.
 * @throws Fault 7 for a value that is not
 */
export function line(parts: TemplateStringsArray, ...values: readonly Word[]): string {
  return parts.reduce((text, part, i) => text + word(values[i - 1] ?? '') + part)
}

function word(value: Word): string {
  if (typeof value === 'number' && value >= 0) return String(value)
  const text = String(value)
  if (isPlainWord(text)) return text
  throw new Fault(
    CODE.invalidConfig,
    `${JSON.stringify(text)} can't be handed to ip(8)`,
    `expected one word of printable ASCII without # " ' \\ and not starting with "-"`,
  )
}
