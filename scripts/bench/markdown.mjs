/** The numbers as tables of Markdown, for docs/performance.md. */

const DIGITS = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1))
const number = (value) => (value === undefined ? '' : DIGITS(value))
const spread = (value, p90) => (value === undefined ? '' : `${DIGITS(value)} (${DIGITS(p90)})`)
const ratio = (value) => (value === undefined ? '' : value.toFixed(2))

const HEAD = [
  '',
  'Pontoon wall',
  'CPU',
  'reference wall',
  'CPU',
  'ratio wall',
  'CPU',
  'pontoon-node wall',
  'CPU',
  'floor wall',
  'CPU',
]

/** All rows, wall and CPU as median (p90), and the sizes. Columns are left for a formatter to pad. */
export function renderMarkdown(rows, sizes) {
  const cells = rows.map(({ scenario, verb, numbers }) => {
    const { pontoon: p = {}, reference: r = {}, 'pontoon-node': n = {}, floor: f = {} } = numbers
    return [
      `${verb}, ${scenario}`,
      spread(p.wall, p.wallP90),
      spread(p.cpu, p.cpuP90),
      spread(r.wall, r.wallP90),
      spread(r.cpu, r.cpuP90),
      ratio(p.wallRatio),
      ratio(p.cpuRatio),
      ...[n.wall, n.cpu, f.wall, f.cpu].map(number),
    ]
  })
  const ofSizes = Object.entries(sizes).map(([name, { memory, file }]) => [
    name,
    `${(memory / 1024).toFixed(1)} MiB`,
    `${(file / 1e6).toFixed(1)} MB`,
  ])
  return `${table(HEAD, cells)}\n${table(['', "peak memory of the plugin's process", 'on disk'], ofSizes)}`
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |\n`
  return line(head) + line(head.map((_, i) => (i === 0 ? '---' : '---:'))) + rows.map(line).join('')
}
