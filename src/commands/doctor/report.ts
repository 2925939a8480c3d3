/** How doctor's findings are told. Pure. */
import { bar, capacityText, count, type Paint, table, wrap } from '../text.ts'
import type { Facts, Finding, NetworkFacts } from './facts.ts'

/** A command that was run. */
export interface Fixed {
  readonly command: string
  readonly what: string
  readonly status: number
  readonly output: string
}

/** What is told, to whom, and on how many columns: undefined where nobody looks. */
export interface Audience {
  readonly paint: Paint
  readonly columns?: number | undefined
}

export function doctorText(
  facts: Facts,
  findings: readonly Finding[],
  fixed: readonly Fixed[],
  { paint, columns = Number.POSITIVE_INFINITY }: Audience,
): string {
  return [
    wrap(machineLine(facts), columns, '  '),
    ...networkLines(facts, findings, paint),
    ...fixed.map((one) => fixedText(one, paint)),
    ...findings.map((finding) => findingText(finding, paint, columns)),
    verdict(findings, paint),
  ].join('\n')
}

function machineLine({ kernel, tools, engine, uplink }: Facts): string {
  const versions = tools
    .filter(({ version }) => version !== '')
    .map(({ tool, version }) => `${tool} ${version}`)
    .join(', ')
  return `Linux ${kernel}, ${versions}, ${engine}${uplink ? `, uplink ${uplink}` : ''}`
}

function networkLines({ networks, unreadable }: Facts, findings: readonly Finding[], paint: Paint): readonly string[] {
  const unknown = unreadable.map((name) => [paint('bold', name), 'can’t be read'])
  const rows = [...networks.map((network) => networkCells(network, findings, paint)), ...unknown]
  return rows.length === 0 ? [] : [table(rows)]
}

function networkCells({ network, known, rows, ranges }: NetworkFacts, findings: readonly Finding[], paint: Paint) {
  const own = findings.filter((finding) => finding.network === network.name)
  const isBad = own.some(({ level }) => level === 'error')
  const state = own.length === 0 ? paint('green', 'ok') : paint(isBad ? 'red' : 'yellow', count(own.length, 'finding'))
  const living = known.filter(({ isDead }) => !isDead)
  const isKnown = (id: string) => living.some(({ entry }) => entry.containerID === id)
  const others = new Set(rows.filter((row) => row.state === 'unknown').map((row) => row.containerID))
  const pods = living.length + [...others].filter((id) => !isKnown(id)).length
  const used = ranges.map(
    (range) => `${bar(range.used, range.capacity, 10)} ${range.used}/${capacityText(range.capacity)}`,
  )
  return [paint('bold', network.name), network.netconf.bridge, count(pods, 'pod'), used.join(' ') || '-', state]
}

function fixedText({ command, status, output }: Fixed, paint: Paint): string {
  const head = status === 0 ? paint('green', 'ran') : paint('red', `failed with status ${status}:`)
  return ['', `${head} ${command}`, ...(output === '' ? [] : output.split('\n').map((line) => `    ${line}`))].join(
    '\n',
  )
}

/** The command is never broken: it is there to be copied. */
function findingText({ level, network, what, why, fix, check }: Finding, paint: Paint, columns: number): string {
  const mark = level === 'error' ? paint('red', 'ERROR') : paint('yellow', 'WARNING')
  const where = network === '' ? '' : `${network}: `
  const head = wrap(`${mark} ${where}${what}  ${paint('dim', `[${check}]`)}`, columns, '  ')
  return ['', head, wrap(`  ${why}`, columns, '  '), `  ${paint('bold', fix)}`].join('\n')
}

function verdict(findings: readonly Finding[], paint: Paint): string {
  if (findings.length === 0) return paint('green', 'all is well')
  const safe = findings.filter(({ isSafe }) => isSafe).length
  const those =
    findings.length === 1 ? 'the command' : safe === findings.length ? 'the commands' : `${safe} of the commands`
  // The others take something away, or are for people to decide.
  const hint =
    safe > 0
      ? `--fix runs ${those}`
      : `${findings.length === 1 ? 'its command is' : 'their commands are'} for you to run`
  return `\n${count(findings.length, 'finding')}; ${hint}`
}
