/** From samples to numbers, and from numbers to a table. */

export function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * part
  const low = Math.floor(at)
  const next = sorted[Math.ceil(at)]
  return sorted[low] + (next - sorted[low]) * (at - low)
}

export const median = (values) => quantile(values, 0.5)

/** One row per scenario and verb: median and 90th percentile of wall and CPU, and the ratios pair by pair. */
export function summarize(results, base = 'reference') {
  return results.flatMap(({ scenario, samples }) =>
    Object.entries(samples).map(([verb, byContender]) => {
      const numbers = {}
      for (const [name, list] of Object.entries(byContender)) {
        const of = (key) => list.map((sample) => sample[key])
        const against = byContender[base]
        const ratio = (key) =>
          name !== base && against ? median(list.map((sample, i) => sample[key] / against[i][key])) : undefined
        numbers[name] = {
          wall: median(of('wall')),
          wallP90: quantile(of('wall'), 0.9),
          cpu: median(of('cpu')),
          cpuP90: quantile(of('cpu'), 0.9),
          wallRatio: ratio('wall'),
          cpuRatio: ratio('cpu'),
        }
      }
      return {
        scenario: scenario.name,
        verb,
        calls: scenario.burst ?? 1,
        rounds: Object.values(byContender)[0].length,
        numbers,
      }
    }),
  )
}

const HEAD = ['', 'wall', 'p90', 'CPU', 'wall', 'p90', 'CPU', 'wall ×', 'CPU ×', 'wall', 'CPU', 'wall', 'CPU']

/** The table as text, for people. Milliseconds; a burst as a whole. */
export function renderTable(rows) {
  const number = (value) =>
    value === undefined ? '' : value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2)
  const ratio = (value) => (value === undefined ? '' : value.toFixed(2))
  const lines = rows.map(({ scenario, verb, numbers }) => {
    const { pontoon: p = {}, reference: r = {}, 'pontoon-node': n = {}, floor: f = {} } = numbers
    const ours = [p.wall, p.wallP90, p.cpu].map(number)
    const theirs = [r.wall, r.wallP90, r.cpu].map(number)
    const rest = [n.wall, n.cpu, f.wall, f.cpu].map(number)
    return [`${verb}, ${scenario}`, ...ours, ...theirs, ratio(p.wallRatio), ratio(p.cpuRatio), ...rest]
  })
  const groups = ['milliseconds', 'pontoon', '', '', 'reference', '', '', 'ratio', '', 'pontoon-node', '', 'floor', '']
  const all = [groups, HEAD, ...lines]
  const widths = HEAD.map((_, i) => Math.max(...all.map((cells) => cells[i].length), i === 0 ? 0 : 6))
  return all
    .map((cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '))
    .join('\n')
}
