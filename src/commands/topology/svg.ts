/**
 * The topology as a picture that can stand in a README: one self-contained SVG, light or dark as its reader has it.
 * Pure.
 */
import { shortId } from '../leases.ts'
import type { NetworkNode, PortNode, Topology } from './model.ts'
import { natText } from './text.ts'

const STYLE = `
    .sheet { fill: #ffffff }
    .card { fill: #f6f8fa; stroke: #d0d7de }
    .bridge { fill: #ddf4ff; stroke: #54aeff }
    .uplink { fill: #dafbe1; stroke: #4ac26b }
    .bad { stroke: #cf222e }
    .wire { fill: none; stroke: #8c959f; stroke-width: 1.5 }
    .nat { stroke: #bf8700; stroke-dasharray: 5 4 }
    .pill { fill: #fff8c5; stroke: #d4a72c }
    text { font: 12px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; fill: #57606a }
    .title { font-weight: 600; font-size: 13px; fill: #1f2328 }
    .mono { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 11.5px }`
const DARK = `
      .sheet { fill: #0d1117 }
      .card { fill: #161b22; stroke: #30363d }
      .bridge { fill: #10243e; stroke: #1f6feb }
      .uplink { fill: #0f2a19; stroke: #2ea043 }
      .bad { stroke: #f85149 }
      .wire { stroke: #6e7681 }
      .nat { stroke: #d29922 }
      .pill { fill: #2d2408; stroke: #9e6a03 }
      text { fill: #9198a1 }
      .title { fill: #f0f6fc }`

const MARGIN = 24
const LINE = 17
const GAP = 14
const COLUMNS = { uplink: MARGIN, network: 190, pod: 560 } as const
const WIDTHS = { uplink: 96, network: 230, pod: 300 } as const
const PAGE = COLUMNS.pod + WIDTHS.pod + MARGIN

export type Theme = 'auto' | 'light' | 'dark'

export function svgText(topology: Topology, theme: Theme = 'auto'): string {
  let y = MARGIN + 30
  const groups = topology.networks.map((network) => {
    const top = y
    y += heightOf(network) + GAP * 2
    return { network, top, height: heightOf(network) }
  })
  const height = Math.max(y, MARGIN + 30 + 80) + 4
  const middle = groups.length > 0 ? (MARGIN + 30 + y - GAP * 2) / 2 : height / 2
  const dark = { auto: `\n    @media (prefers-color-scheme: dark) {${DARK}\n    }`, light: '', dark: DARK }[theme]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${PAGE} ${height}" width="${PAGE}" height="${height}" role="img">`,
    `  <title>${escaped(`Networks of ${topology.node}`)}</title>`,
    `  <style>${STYLE}${dark}\n  </style>`,
    `  <rect class="sheet" width="${PAGE}" height="${height}" rx="12"/>`,
    text(MARGIN, MARGIN + 10, topology.node, 'title'),
    ...groups.map((group) => uplinkWire(group.network, middle, group.top + group.height / 2)),
    ...uplinkBox(topology.uplink || 'uplink', middle),
    ...groups.flatMap(({ network, top, height: tall }) => networkGroup(network, top, tall)),
    '</svg>',
  ].join('\n')
}

const podHeight = (port: PortNode) => 16 + LINE * (2 + Math.ceil(port.addresses.length / 2))
const boxHeight = (network: NetworkNode) => 20 + LINE * linesOf(network).length

function heightOf(network: NetworkNode): number {
  const pods = network.ports.reduce((sum, port) => sum + podHeight(port) + GAP, -GAP)
  return Math.max(boxHeight(network), pods)
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

function networkGroup(network: NetworkNode, top: number, height: number): readonly string[] {
  const tall = boxHeight(network)
  const boxTop = top + (height - tall) / 2
  const [title = '', ...rest] = linesOf(network)
  const bad = network.state === 'down' ? ' bad' : ''
  const middle = boxTop + tall / 2
  let y = top + (height - network.ports.reduce((sum, port) => sum + podHeight(port) + GAP, -GAP)) / 2
  const ports = network.ports.flatMap((port) => {
    const at = y
    y += podHeight(port) + GAP
    return portGroup(port, at, middle)
  })
  return [
    ...ports,
    rect(COLUMNS.network, boxTop, WIDTHS.network, tall, `bridge${bad}`),
    text(COLUMNS.network + 12, boxTop + 22, shorten(title, 30), 'title'),
    ...rest.map((line, i) => text(COLUMNS.network + 12, boxTop + 22 + LINE * (i + 1), shorten(line, 34), '')),
  ]
}

function portGroup(port: PortNode, top: number, from: number): readonly string[] {
  const height = podHeight(port)
  const middle = top + height / 2
  const x = COLUMNS.pod
  const [title, second] =
    port.kind === 'pod' ? [shortId(port.owner), `${port.ifname} · ${port.name}`] : [port.owner, port.name]
  const pairs = port.addresses.flatMap((_, i) => (i % 2 === 0 ? [port.addresses.slice(i, i + 2).join('  ')] : []))
  return [
    wire(COLUMNS.network + WIDTHS.network, from, x, middle, port.state === 'up' ? 'wire' : 'wire bad'),
    rect(x, top, WIDTHS.pod, height, `card${port.state === 'up' ? '' : ' bad'}`),
    text(x + 12, top + 21, shorten(title, 40), 'title'),
    text(x + 12, top + 21 + LINE, shorten(`${second}${port.state === 'up' ? '' : ` (${port.state})`}`, 44), ''),
    ...pairs.map((line, i) => text(x + 12, top + 21 + LINE * (i + 2), shorten(line, 41), 'mono')),
    ...vlanPill(port.vlans, middle),
  ]
}

function vlanPill(vlans: string, middle: number): readonly string[] {
  if (vlans === '') return []
  const label = shorten(`VLAN ${vlans}`, 18)
  const width = 14 + label.length * 6.6
  const x = COLUMNS.pod - 10 - width
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
const shorten = (words: string, length: number) => (words.length > length ? `${words.slice(0, length - 1)}…` : words)
const escaped = (words: string) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
