/**
 * What a document shows to be typed, and what it says comes out: its blocks of `sh` and `console`, as one script.
 *
 * All blocks of a document run in one shell, in their order, for later ones use what earlier ones made. A console block
 * with `$ ` in it has its own commands; one without is what the block above it prints.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Block {
  readonly language: string
  readonly lines: readonly string[]
}

/** A command without the comment behind it. */
export function bare(line: string): string {
  return line.replace(/\s+# .*$/, '')
}

export function blocksOf(document: string): readonly Block[] {
  const text = readFileSync(join(import.meta.dirname, '..', document), 'utf8')
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = '', body = '']) => ({
    language,
    lines: body.split('\n').slice(0, -1),
  }))
}

export interface Shown {
  readonly command: string
  /** What this and the commands before it, as many as `of` says, print together; undefined: the document does not say. */
  readonly prints?: readonly string[]
  readonly of?: number
}

/** @param isLeftOut lines that are not run, and console blocks, by their first line, that are no command's output */
export function shownIn(document: string, isLeftOut: (line: string) => boolean): readonly Shown[] {
  const shown: Shown[] = []
  let last = 0
  for (const { language, lines } of blocksOf(document)) {
    if (language === 'sh') {
      const commands = commandsOf(lines.filter((line) => !isLeftOut(line)))
      shown.push(...commands.map((command) => ({ command })))
      last = commands.length
    }
    if (language !== 'console' || isLeftOut(lines[0] ?? '')) continue
    if (lines[0]?.startsWith('$ ')) shown.push(...dialogOf(lines))
    else shown.push({ command: ':', ...shown.pop(), prints: lines, of: last })
  }
  return shown
}

/** One a line, unless the line goes on: at its end, or by the next one being indented. */
function commandsOf(lines: readonly string[]): readonly string[] {
  const commands: string[] = []
  for (const [i, line] of lines.entries()) {
    const goesOn = i > 0 && (/^\s/.test(line) || /[\\|]$/.test(lines[i - 1] ?? ''))
    commands.push(goesOn ? `${commands.pop()}\n${line}` : line)
  }
  return commands.filter((command) => command !== '')
}

function dialogOf(lines: readonly string[]): readonly Shown[] {
  const starts = lines.flatMap((line, i) => (line.startsWith('$ ') ? [i] : []))
  return starts.map((start, i) => ({
    command: lines[start]?.slice(2) ?? '',
    prints: lines.slice(start + 1, starts[i + 1]),
    of: 1,
  }))
}

/** How a situation speaks of each: by its first line; of the second with the same as `pontoon doctor (2)`. */
export function namesOf(shown: readonly Shown[]): readonly string[] {
  const firsts = shown.map(({ command }) => bare(command.split('\n')[0] ?? ''))
  return firsts.map((first, i) => {
    const nth = firsts.slice(0, i + 1).filter((one) => one === first).length
    return nth === 1 ? first : `${first} (${nth})`
  })
}

const MARK = '@@'

/** Commands in one shell, each with what the situation needs done before it. */
export function scriptOf(shown: readonly Shown[], before: Readonly<Record<string, string>>): string {
  const names = namesOf(shown)
  return shown
    .map(({ command }, i) => `${before[names[i] ?? ''] ?? ''}\necho '${MARK}'\n{\n${command}\n} 2>&1\necho "${MARK}$?"`)
    .join('\n')
}

/** What each command printed, and its status. */
export function printedBy(output: string): readonly { readonly lines: readonly string[]; readonly status: string }[] {
  return [...output.matchAll(/^@@\n(.*?)@@(\d+)$/gms)].map(([, text = '', status = '']) => ({
    lines: text === '' ? [] : text.replace(/\n$/, '').split('\n'),
    status,
  }))
}

/** A line without what differs from run to run, from machine to machine, from engine to engine. */
export function plainLine(line: string): string {
  return line
    .replace(/^Linux \S+, .*?, uplink/, 'Linux, uplink')
    .replace(/"(time|ms|pid)":("[^"]*"|[\d.]+)/g, '"$1":0')
    .replace(/^pods (?=neither|can’t).* each other$|^pods can’t reach the outside.*/, 'pods can’t')
    .replace(/\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b/g, 'MAC')
    .replace(/^\d+: /, 'N: ')
    .replace(/@if\d+/g, '@ifN')
    .replace(/\b\d+s\b/g, 'Ns')
    .replace(/time \d+ms/, 'time')
    .replace(/qdisc \w+/, 'qdisc')
    .replace(/ +/g, ' ')
    .trim()
}

/** Is this what the document says? `…` in a line of it stands for anything, a line of it alone for any lines. */
export function differenceOf(says: readonly string[], prints: readonly string[]): string {
  const want = says.map(plainLine)
  const have = prints.map(plainLine)
  let at = 0
  for (const [i, line] of want.entries()) {
    if (line === '…') {
      const next = want[i + 1]
      while (at < have.length && !(next !== undefined && isLike(next, have[at] ?? ''))) at++
    } else if (at < have.length && isLike(line, have[at] ?? '')) at++
    else return `the document: ${line}\nprinted: ${have[at] ?? 'nothing more'}`
  }
  return at < have.length ? `printed, and not in the document: ${have[at]}` : ''
}

function isLike(says: string, prints: string): boolean {
  const parts = says.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(prints)
}
