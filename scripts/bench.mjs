/**
 * `npm run bench`: Pontoon beside the reference plugins, in one run, in namespaces of their own. Needs root, `perl`,
 * `unshare`, and the tools that the plugin drives. Plain JavaScript for Node.js 20 or newer.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { renderChart } from './bench/chart.mjs'
import { renderMarkdown } from './bench/markdown.mjs'
import { measure, measureMemory, scenarios } from './bench/scenarios.mjs'
import { renderTable, summarize } from './bench/table.mjs'

const USAGE = `npm run bench -- [options]

  --reference DIR  folder of the reference plugins (default: where the tests keep Debian's, else /usr/lib/cni)
  --dist DIR       folder of pontoon and pontoon-node (default: dist)
  --only WORD      only the scenarios with this in their name; may be given again
  --rounds N       calls of each verb (default 40; slow scenarios take a part of it)
  --quick          few rounds: whether it runs, not how fast
  --without-node   leaves pontoon-node out
  --json FILE      writes all numbers and samples
  --svg FILE       writes the chart
  --markdown FILE  writes the tables of docs/performance.md
  --help`

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const { values: options } = parseArgs({
  options: {
    reference: { type: 'string' },
    dist: { type: 'string', default: join(root, 'dist') },
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '40' },
    quick: { type: 'boolean', default: false },
    'without-node': { type: 'boolean', default: false },
    json: { type: 'string' },
    svg: { type: 'string' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (options.help) {
  console.log(USAGE)
  process.exit(0)
}

const CACHE = join(process.env.CACHE_DIR ?? '/var/cache/cni-clients', 'root')
const places = [options.reference, `${CACHE}/sid/usr/lib/cni`, `${CACHE}/bookworm/usr/lib/cni`, '/usr/lib/cni']
const plugins = places.find((place) => place && existsSync(join(place, 'bridge')))
if (!plugins || (options.reference && plugins !== options.reference)) {
  fail('no reference plugins: install containernetworking-plugins, or name their folder by --reference')
}

const contenders = [
  { name: 'pontoon', exe: resolve(options.dist, 'pontoon'), plugins: resolve(plugins) },
  ...(options['without-node']
    ? []
    : [{ name: 'pontoon-node', exe: resolve(options.dist, 'pontoon-node'), plugins: resolve(plugins) }]),
  { name: 'reference', exe: resolve(plugins, 'bridge'), plugins: resolve(plugins) },
  { name: 'floor', isFloor: true },
]
for (const { exe } of contenders) {
  if (exe && !existsSync(exe)) fail(`${exe} is missing: run "npm run build"`)
}

const labs = new Set()
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => {
    await Promise.all([...labs].map((lab) => lab.close()))
    process.exit(130)
  })
}

const rounds = options.quick ? 4 : Number(options.rounds)
const opened = (lab) => labs.add(lab)
const onFailure = (error) => console.error(`\nbench: left out: ${error.message}`)
const wanted = scenarios.filter(({ name }) => !options.only || options.only.some((word) => name.includes(word)))
const begun = loadavg()[0]
const results = []
for (const [i, scenario] of wanted.entries()) {
  if (!process.stderr.isTTY) console.error(`${i + 1}/${wanted.length} ${scenario.name}`)
  const onRound = (round, total) => progress(`${i + 1}/${wanted.length} ${scenario.name}: ${round + 1} of ${total}`)
  results.push({ scenario, samples: await measure(scenario, contenders, { rounds, onRound, onFailure, opened }) })
}
const machine = describeMachine()
const sizes = {}
for (const contender of contenders.filter(({ isFloor }) => !isFloor)) {
  progress(`memory of ${contender.name}`)
  sizes[contender.name] = { memory: await measureMemory(contender, { opened }), file: fileSize(contender) }
}
progress('')

const rows = summarize(results)
console.log(machine)
console.log(renderTable(rows))
for (const [name, { memory, file }] of Object.entries(sizes)) {
  console.log(`${name}: at most ${(memory / 1024).toFixed(1)} MiB of memory, ${(file / 1e6).toFixed(1)} MB on disk`)
}
const first = (scenario) => rows.find((row) => row.verb === 'ADD' && row.scenario === scenario)?.numbers.pontoon
const [none, many] = [first('no masquerade'), first('20,000 reservations')]
if (none && many) {
  const [wall, cpu] = [many.wall / none.wall, many.cpu / none.cpu].map((value) => value.toFixed(2))
  console.log(`pontoon, ADD at 20,000 reservations against none: wall × ${wall}, CPU × ${cpu}`)
}
if (options.json) writeFileSync(options.json, `${JSON.stringify({ machine, rows, sizes, results }, null, 1)}\n`)
if (options.svg) writeFileSync(options.svg, renderChart(rows))
if (options.markdown) writeFileSync(options.markdown, renderMarkdown(rows, sizes))

/** The reference is two executables, where a pod's addresses are host-local's. */
function fileSize({ name, exe }) {
  return statSync(exe).size + (name === 'reference' ? statSync(join(plugins, 'host-local')).size : 0)
}

function describeMachine() {
  const model = cpus()[0]?.model ?? 'unknown'
  const kernel = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim()
  const load = [begun, loadavg()[0]].map((value) => value.toFixed(1)).join(' to ')
  return `${cpus().length} × ${model}, Linux ${kernel}, load ${load}`
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}

function fail(message) {
  console.error(`bench: ${message}`)
  process.exit(2)
}
