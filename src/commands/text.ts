/** What people read in a terminal: tables, bars, times, colours. Pure. */

export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold'

const CODES: Readonly<Record<Colour, string>> = { red: '31', green: '32', yellow: '33', dim: '2', bold: '1' }

export type Paint = (colour: Colour, text: string) => string

export const plain: Paint = (_, text) => text
export const coloured: Paint = (colour, text) => `\u001b[${CODES[colour]}m${text}\u001b[0m`

const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')

/** Columns as wide as their widest cell, two spaces between; colours count nothing. The last one is not padded. */
export function table(rows: readonly (readonly string[])[], indent = ''): string {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, width(cell))
    })
  }
  return rows
    .map((row) => row.map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - width(cell))).join('  '))
    .map((text) => `${indent}${text}`.trimEnd())
    .join('\n')
}

/** How wide the widest row of a table is. */
export function tableWidth(rows: readonly (readonly string[])[]): number {
  return Math.max(0, ...table(rows).split('\n').map(width))
}

/** Lines no longer than that, broken between words; words that are longer stay whole, so that one can copy them. */
export function wrap(text: string, columns: number, indent = ''): string {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && width(last) + 1 + width(word) <= columns) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(last === undefined ? word : indent + word)
  }
  return lines.join('\n')
}

function width(cell: string): number {
  return cell.replace(COLOURS, '').length
}

/** `████░░░░░░`: at least one full block as soon as anything is used, and all only when all is. */
export function bar(used: number, capacity: number, length = 20): string {
  const share = capacity > 0 ? Math.min(1, used / capacity) : 1
  const rounded = Math.round(share * length)
  const full = share >= 1 ? length : Math.min(length - 1, Math.max(used > 0 ? 1 : 0, rounded))
  return '█'.repeat(full) + '░'.repeat(length - full)
}

/** `3d 4h`, `2m 5s`: the two largest units. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  if (first < 0) return '0s'
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ')
}

/** `1 pod`, `2 pods` */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

/** A range of IPv6 has more addresses than anybody counts, or a number holds exactly. */
export function capacityText(capacity: number): string {
  return capacity > 1e9 ? 'many' : String(capacity)
}

const PLAIN_SIGNS: Readonly<Record<string, string>> = {
  '█': '#',
  '░': '.',
  '├': '|',
  '└': '`',
  '│': '|',
  '─': '-',
  '…': '...',
  '’': "'",
  '·': '-',
}

/** Pontoon's own words in ASCII; what else is not ASCII becomes a question mark. */
export function ascii(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours and line ends stay
  return text.replace(/[^\u0000-\u007f]/gu, (sign) => PLAIN_SIGNS[sign] ?? '?')
}
