/** `pontoon leases`: who has which address, and how full the ranges are. Reads only. */
import * as engine from '#engine'
import { loadIpv6 } from '../core/ip.ts'
import { lookUpTool } from '../host/tools.ts'
import type { LeaseRow, RangeUse, State } from './leases/rows.ts'
import { listConfFiles, NO_NETWORKS, readConfFiles, selectNetworks, strayNetworks } from './networks.ts'
import { isTerminal, paintHere, print, printJson, terminalWidth } from './output.ts'
import { readAllLinks } from './repair/look.ts'
import { bar, type Colour, capacityText, count, duration, type Paint, table, tableWidth, wrap } from './text.ts'
import { withLabelled } from './unindexed.ts'
import { ageOf, type NetworkView, viewOf } from './view.ts'

export type LeasesFlags = {
  readonly confDir: string
  readonly json?: boolean
  /** Seconds between two looks; without it, once. */
  readonly watch?: number
}

export async function run(flags: LeasesFlags, network?: string): Promise<number> {
  await loadIpv6()
  const paint = paintHere()
  for (;;) {
    const views = await look(flags, network)
    const isRead = flags.json
      ? printJson(leasesJson(views))
      : print(clearing(flags) + leasesText(views, paint, await terminalWidth()))
    if (flags.watch === undefined || !isRead) return 0
    await engine.sleep(flags.watch * 1000)
  }
}

async function look({ confDir }: LeasesFlags, network: string | undefined): Promise<readonly NetworkView[]> {
  const configured = readConfFiles(listConfFiles(confDir)).flatMap(({ networks }) => networks)
  const views = selectNetworks([...configured, ...strayNetworks(configured)], network).map(viewOf)
  const isAllKnown = views.every(({ rows }) => rows.every(({ state }) => state !== 'unknown'))
  if (isAllKnown || lookUpTool('ip') === undefined) return views
  const links = await readAllLinks()
  return views.map((view) => withLabelled(view, links))
}

/** Home, and away with what is there: only where somebody looks. */
function clearing({ watch }: LeasesFlags): string {
  return watch !== undefined && isTerminal() ? '\u001b[H\u001b[J' : ''
}

const COLOURS: Readonly<Record<State, Colour>> = { live: 'green', dead: 'red', unknown: 'yellow' }
const HEAD = ['ADDRESS', 'STATE', 'POD', 'CONTAINER', 'IFNAME', 'HOST VETH', 'AGE', 'NETNS']

/** What a narrow terminal is spared, the most expendable first. */
const EXPENDABLE = ['NETNS', 'HOST VETH', 'IFNAME', 'AGE', 'CONTAINER']

/** @param columns the terminal's; undefined: as wide as it gets */
export function leasesText(views: readonly NetworkView[], paint: Paint, columns?: number): string {
  if (views.length === 0) return NO_NETWORKS
  const everyRow = [HEAD, ...views.flatMap(({ rows }) => rows.map((row) => cells(row, paint)))]
  const spared = columns === undefined ? [] : sparedOf(everyRow, columns - 2)
  const fitted = (row: readonly string[]) => row.filter((_, i) => !spared.includes(HEAD[i] ?? ''))
  const left = wrap(`left out, as the terminal is narrow: ${spared.join(', ')}`, columns ?? 0)
  const note = spared.length > 0 ? `\n\n${paint('dim', left)}` : ''
  const text = views
    .map(({ network, ranges, rows }) => {
      const where = network.file === '' ? 'no configuration' : network.file
      const head = `${paint('bold', network.name)}  ${paint('dim', where)}  ${count(rows.length, 'lease')}`
      const bars =
        ranges.length > 0
          ? [
              table(
                ranges.map((range) => rangeCells(range, paint)),
                '  ',
              ),
            ]
          : []
      const list = rows.length > 0 ? [table([HEAD, ...rows.map((row) => cells(row, paint))].map(fitted), '  ')] : []
      return [head, ...bars, ...list].join('\n')
    })
    .join('\n\n')
  return text + note
}

function sparedOf(rows: readonly (readonly string[])[], columns: number): readonly string[] {
  for (let count = 0; count < EXPENDABLE.length; count++) {
    const spared = EXPENDABLE.slice(0, count)
    const left = rows.map((row) => row.filter((_, i) => !spared.includes(HEAD[i] ?? '')))
    if (tableWidth(left) <= columns) return spared
  }
  return EXPENDABLE
}

function rangeCells({ range, used, capacity }: RangeUse, paint: Paint): readonly string[] {
  const share = capacity > 0 ? used / capacity : 1
  const colour = share >= 1 ? 'red' : share >= 0.9 ? 'yellow' : 'green'
  const percent = `${Math.floor(share * 100)} %`
  return [range, paint(colour, bar(used, capacity)), `${used} of ${capacityText(capacity)}`, percent]
}

function cells(row: LeaseRow, paint: Paint): readonly string[] {
  const age = ageOf(row)
  const state = row.state + (row.reserved ? '' : ', not in the store')
  return [
    row.address,
    paint(COLOURS[row.state], state),
    row.pod || '-',
    shortId(row.containerID) || '-',
    row.ifname || '-',
    row.hostVeth || '-',
    age === undefined ? '-' : duration(age),
    row.netns || '-',
  ]
}

/** As container runtimes show it. */
export function shortId(id: string): string {
  return /^[0-9a-f]{64}$/.test(id) ? id.slice(0, 13) : id
}

/** The documented shape: members may be added, none is renamed or removed. */
export function leasesJson(views: readonly NetworkView[]): object {
  return {
    version: 1,
    networks: views.map(({ network, ranges, rows }) => ({
      name: network.name,
      file: network.file,
      store: network.storeFolder,
      ranges,
      leases: rows.map((row) => ({
        address: row.address,
        state: row.state,
        containerID: row.containerID,
        ifname: row.ifname,
        pod: row.pod,
        netns: row.netns,
        hostVeth: row.hostVeth,
        since: row.since === undefined ? null : new Date(row.since).toISOString(),
        reserved: row.reserved,
      })),
    })),
  }
}
