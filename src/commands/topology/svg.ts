/**
 * The topology as a picture that can stand in a README: one self-contained SVG, light or dark as its reader has it.
 * Pure.
 */
import { shortId } from '../leases.ts'
import type { NetworkNode, PortNode, Topology } from './model.ts'
import { DARK, STYLE } from './svg-style.ts'
import { leaves, natText } from './text.ts'

const MARGIN = 24
const LINE = 17
const GAP = 14
const COLUMNS = { uplink: MARGIN, network: 190, pod: 560 } as const
const WIDTHS = { uplink: 96, network: 230, pod: 300 } as const

/** More ports than these are put side by side, in one frame: a page is read, a ribbon is not. */
const MANY = 12

export type Theme = 'auto' | 'light' | 'dark'

/** Where a network's ports are: one below the other, or in rows of cells of one size. */
interface Grid {
  readonly columns: number
  readonly width: number
  readonly height: number
  /** Of each port: its place from the upper left corner, and its height. */
  readonly cells: readonly { readonly x: number; readonly y: number; readonly height: number }[]
}

export function svgText(topology: Topology, theme: Theme = 'auto'): string {
  let y = MARGIN + 30
  const groups = topology.networks.map((network) => {
    const top = y
    const grid = gridOf(network.ports)
    const height = Math.max(boxHeight(network), grid.height)
    y += height + GAP * 2
    return { network, top, height, grid }
  })
  const width = COLUMNS.pod + Math.max(WIDTHS.pod, ...groups.map(({ grid }) => grid.width)) + MARGIN
  const height = Math.max(y, MARGIN + 30 + 80) + 4
  const middle = groups.length > 0 ? (MARGIN + 30 + y - GAP * 2) / 2 : height / 2
  const dark = { auto: `\n    @media (prefers-color-scheme: dark) {${DARK}\n    }`, light: '', dark: DARK }[theme]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `  <title>${escaped(`Networks of ${topology.node}`)}</title>`,
    `  <style>${STYLE}${dark}\n  </style>`,
    `  <rect class="sheet" width="${width}" height="${height}" rx="12"/>`,
    text(MARGIN, MARGIN + 10, topology.node, 'title'),
    ...groups
      .filter(({ network }) => leaves(network))
      .map((group) => uplinkWire(group.network, middle, group.top + group.height / 2)),
    ...uplinkBox(topology.uplink || 'uplink', middle),
    ...groups.flatMap(({ network, top, height: tall, grid }) => networkGroup(network, grid, { top, height: tall })),
    '</svg>',
  ].join('\n')
}

const podHeight = (port: PortNode) => 16 + LINE * (2 + addressLines(port).length)
const boxHeight = (network: NetworkNode) => 20 + LINE * linesOf(network).length

function gridOf(ports: readonly PortNode[]): Grid {
  if (ports.length <= MANY) {
    let y = 0
    const cells = ports.map((port) => {
      const cell = { x: 0, y, height: podHeight(port) }
      y += cell.height + GAP
      return cell
    })
    return { columns: 1, width: WIDTHS.pod, height: Math.max(0, y - GAP), cells }
  }
  const columns = Math.min(6, Math.ceil(Math.sqrt(ports.length / 5)))
  const height = Math.max(...ports.map(podHeight))
  const cells = ports.map((_, i) => ({
    x: GAP + (i % columns) * (WIDTHS.pod + GAP),
    y: GAP + Math.floor(i / columns) * (height + GAP),
    height,
  }))
  const rows = Math.ceil(ports.length / columns)
  return { columns, width: GAP + columns * (WIDTHS.pod + GAP), height: GAP + rows * (height + GAP), cells }
}

/** Two to a line where they fit. */
function addressLines({ addresses }: PortNode): readonly string[] {
  const lines: string[] = []
  for (const address of addresses) {
    const last = lines.at(-1)
    const both = `${last}  ${address}`
    if (last !== undefined && !last.includes('  ') && both.length <= LETTERS.mono) lines[lines.length - 1] = both
    else lines.push(address)
  }
  return lines
}

function linesOf(network: NetworkNode): readonly string[] {
  return [
    network.name,
    ...network.subnets,
    `bridge ${network.bridge}, ${network.state}, MTU ${network.mtu || 1500}`,
    ...network.gateways.map((cidr) => `gateway ${cidr}`),
    natText(network),
  ]
}

function uplinkBox(name: string, middle: number): readonly string[] {
  return [
    rect(COLUMNS.uplink, middle - 24, WIDTHS.uplink, 48, 'uplink'),
    text(COLUMNS.uplink + WIDTHS.uplink / 2, middle - 3, shorten(name, 12), 'title', 'middle'),
    text(COLUMNS.uplink + WIDTHS.uplink / 2, middle + 14, 'uplink', '', 'middle'),
  ]
}

function uplinkWire(network: NetworkNode, from: number, to: number): string {
  return wire(COLUMNS.uplink + WIDTHS.uplink, from, COLUMNS.network, to, network.masquerade ? 'wire nat' : 'wire')
}

interface Place {
  readonly top: number
  readonly height: number
}

function networkGroup(network: NetworkNode, grid: Grid, { top, height }: Place): readonly string[] {
  const tall = boxHeight(network)
  const boxTop = top + (height - tall) / 2
  const [title = '', ...rest] = linesOf(network)
  const bad = network.state === 'down' ? ' bad' : ''
  const middle = boxTop + tall / 2
  const gridTop = top + (height - grid.height) / 2
  const start = COLUMNS.network + WIDTHS.network
  return [
    ...(grid.columns > 1 ? frame(grid, gridTop, start, middle) : []),
    ...network.ports.flatMap((port, i) => {
      const { x = 0, y = 0, height: cellHeight = 0 } = grid.cells[i] ?? {}
      const place = { top: gridTop + y, height: cellHeight }
      return grid.columns > 1 ? card(port, COLUMNS.pod + x, place, true) : portGroup(port, place, middle)
    }),
    rect(COLUMNS.network, boxTop, WIDTHS.network, tall, `bridge${bad}`),
    text(COLUMNS.network + 12, boxTop + 22, shorten(title, 26), 'title'),
    ...rest.map((line, i) => text(COLUMNS.network + 12, boxTop + 22 + LINE * (i + 1), shorten(line, 32), '')),
  ]
}

function frame({ width, height }: Grid, top: number, start: number, middle: number): readonly string[] {
  return [
    wire(start, middle, COLUMNS.pod, top + height / 2, 'wire'),
    rect(COLUMNS.pod, top, width, height, 'frame', 12),
  ]
}

function portGroup(port: PortNode, place: Place, from: number): readonly string[] {
  const middle = place.top + place.height / 2
  return [
    wire(COLUMNS.network + WIDTHS.network, from, COLUMNS.pod, middle, port.state === 'up' ? 'wire' : 'wire bad'),
    ...card(port, COLUMNS.pod, place, false),
    ...vlanPill(port.vlans, COLUMNS.pod - 10, middle),
  ]
}

/** How many letters a card is wide, by the widest of the usual fonts. */
const LETTERS = { title: 33, plain: 40, mono: 39 } as const

/** @param isCell its VLANs are to be in it: there is no wire to have them */
function card(port: PortNode, x: number, { top, height }: Place, isCell: boolean): readonly string[] {
  const [title, second] =
    port.kind === 'pod' ? [shortId(port.owner), `${port.ifname} · ${port.name}`] : [port.owner, port.name]
  const state = port.state === 'up' ? '' : ` (${port.state})`
  return [
    rect(x, top, WIDTHS.pod, height, `card${port.state === 'up' ? '' : ' bad'}`),
    text(x + 12, top + 21, shorten(title, LETTERS.title), 'title'),
    text(x + 12, top + 21 + LINE, shorten(`${second}${state}`, LETTERS.plain), ''),
    ...addressLines(port).map((line, i) =>
      text(x + 12, top + 21 + LINE * (i + 2), shorten(line, LETTERS.mono), 'mono'),
    ),
    ...(isCell ? vlanPill(port.vlans, x + WIDTHS.pod - 8, top + height - 18) : []),
  ]
}

/** @param right where it ends */
function vlanPill(vlans: string, right: number, middle: number): readonly string[] {
  if (vlans === '') return []
  const label = shorten(`VLAN ${vlans}`, 18)
  const width = 14 + label.length * 6.6
  const x = right - width
  return [rect(x, middle - 10, width, 20, 'pill', 10), text(x + width / 2, middle + 4, label, '', 'middle')]
}

function rect(x: number, y: number, width: number, height: number, kind: string, rx = 8): string {
  return `  <rect class="${kind}" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${rx}"/>`
}

function wire(x: number, y: number, toX: number, toY: number, kind: string): string {
  const bend = (x + toX) / 2
  const [from, to] = [round(y), round(toY)]
  return `  <path class="${kind}" d="M${x} ${from} C${bend} ${from} ${bend} ${to} ${toX} ${to}"/>`
}

function text(x: number, y: number, words: string, kind: string, anchor = ''): string {
  const attributes = `${kind ? ` class="${kind}"` : ''}${anchor ? ` text-anchor="${anchor}"` : ''}`
  return `  <text x="${round(x)}" y="${round(y)}"${attributes}>${escaped(words)}</text>`
}

const round = (value: number) => Math.round(value * 10) / 10
/** In the middle: what tells pods of one Deployment apart is at the end. */
function shorten(words: string, length: number): string {
  if (words.length <= length) return words
  const tail = Math.floor((length - 1) / 2)
  return `${words.slice(0, length - 1 - tail)}…${words.slice(-tail)}`
}

const escaped = (words: string) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
