/** The chart for the README: one pair of bars per row, readable on white and on black. */

const ROW = 46
const LEFT = 250
const WIDTH = 480
const CHARTED = [
  ['ADD', 'no masquerade', 'ADD'],
  ['DEL', 'no masquerade', 'DEL'],
  ['ADD', 'masquerade', 'ADD, masquerade'],
  ['DEL', 'masquerade', 'DEL, masquerade'],
  ['CHECK', 'no masquerade', 'CHECK'],
  ['ADD', '5,000 reservations', 'ADD, 5,000 other reservations'],
  ['DEL', '5,000 reservations', 'DEL, 5,000 other reservations'],
]

const STYLE = `text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 12px; fill: #59636e }
.ours { fill: #0969da } .theirs { fill: #8c959f }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .small { fill: #9198a1 } .ours { fill: #4493f8 } .theirs { fill: #656c76 }
}`

/** CPU time of one call, as SVG. */
export function renderChart(rows, { title = 'CPU time of one call, with all it starts' } = {}) {
  const shown = CHARTED.flatMap(([verb, scenario, label]) => {
    const row = rows.find((one) => one.verb === verb && one.scenario === scenario)
    const { pontoon, reference } = row?.numbers ?? {}
    return pontoon && reference ? [{ label, ours: pontoon.cpu, theirs: reference.cpu }] : []
  })
  const most = Math.max(...shown.map(({ ours, theirs }) => Math.max(ours, theirs)))
  const height = 78 + shown.length * ROW
  const bar = (value, y, name) => {
    const width = Math.max(2, (value / most) * WIDTH)
    const text = `<text class="small" x="${(LEFT + width + 6).toFixed(1)}" y="${y + 12}">${format(value)}</text>`
    return `<rect class="${name}" x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="15" rx="2"/>${text}`
  }
  const lines = shown.flatMap(({ label, ours, theirs }, i) => {
    const y = 66 + i * ROW
    const text = `<text x="${LEFT - 12}" y="${y + 20}" text-anchor="end">${label}</text>`
    return [text, bar(ours, y, 'ours'), bar(theirs, y + 17, 'theirs')]
  })
  const legend = [
    `<rect class="ours" x="${LEFT}" y="36" width="12" height="12" rx="2"/><text x="${LEFT + 18}" y="47">Pontoon</text>`,
    `<rect class="theirs" x="${LEFT + 100}" y="36" width="12" height="12" rx="2"/>`,
    `<text x="${LEFT + 118}" y="47">reference plugins</text>`,
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + WIDTH + 80} ${height}" role="img">
<title>${title}</title>
<style>${STYLE}</style>
<text x="${LEFT}" y="20" font-weight="600">${title}</text>
${[...legend, ...lines].join('\n')}
</svg>
`
}

const format = (value) => `${value >= 100 ? value.toFixed(0) : value.toFixed(1)} ms`
