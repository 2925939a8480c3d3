/** The topology as a tree for a terminal, and in the languages of dot(1) and Mermaid. Pure. */

import { shortId } from '../leases.ts'
import { NO_NETWORKS } from '../networks.ts'
import type { Paint } from '../text.ts'
import type { NetworkNode, PortNode, Topology } from './model.ts'

interface Branch {
  readonly text: string
  readonly branches: readonly Branch[]
}

export function treeText(topology: Topology, paint: Paint): string {
  const uplink = topology.uplink ? `, uplink ${topology.uplink}` : ''
  const root = {
    text: `${paint('bold', topology.node)}${uplink}`,
    branches: topology.networks.map((n) => networkBranch(n, paint)),
  }
  const none = root.branches.length === 0 ? [NO_NETWORKS] : []
  return [root.text, ...none, ...branchLines(root.branches, '')].join('\n')
}

function branchLines(branches: readonly Branch[], indent: string): readonly string[] {
  return branches.flatMap(({ text, branches: below }, i) => {
    const isLast = i === branches.length - 1
    return [`${indent}${isLast ? '└─ ' : '├─ '}${text}`, ...branchLines(below, `${indent}${isLast ? '   ' : '│  '}`)]
  })
}

function networkBranch(network: NetworkNode, paint: Paint): Branch {
  const { name, subnets, bridge, state, gateways, gatewayDevice, ports } = network
  const gateway = gateways.length > 0 ? `, gateway ${gateways.join(', ')}` : ''
  const on = gatewayDevice === bridge || gateway === '' ? '' : ` on ${gatewayDevice}`
  const colour = state === 'up' ? 'green' : 'yellow'
  return {
    text: `network ${paint('bold', name)}  ${subnets.join(', ')}  ${paint('dim', natText(network))}`,
    branches: [
      {
        text: `bridge ${bridge} (${paint(colour, state)}${gateway}${on})`,
        branches: ports.map((port) => portBranch(port, paint)),
      },
    ],
  }
}

function portBranch({ name, state, vlans, owner, kind, ifname, addresses }: PortNode, paint: Paint): Branch {
  const vlan = vlans === '' ? '' : `, VLAN ${vlans}`
  const port = `port ${name} (${paint(state === 'up' ? 'green' : 'red', state)}${vlan})`
  if (kind === 'other') return { text: `${port}  ${owner}`, branches: [] }
  return {
    text: port,
    branches: [{ text: `pod ${paint('bold', shortId(owner))}  ${ifname}  ${addresses.join(', ')}`, branches: [] }],
  }
}

/** Do packets of its pods get to the uplink? */
export const leaves = ({ masquerade, routed }: NetworkNode) => routed || masquerade !== ''

/** How packets leave, in words. */
export function natText({ masquerade, routed }: NetworkNode): string {
  if (masquerade !== '') return `NAT by ${masquerade}`
  return routed ? 'routed, no NAT' : 'not routed'
}

/** `pods 10.22.0.0/24`, line by line. */
function labelsOf(network: NetworkNode) {
  return {
    network: [network.name, ...network.subnets, natText(network)],
    bridge: [`${network.bridge} (${network.state})`, ...network.gateways],
    port: (port: PortNode) => [port.name, ...(port.vlans ? [`VLAN ${port.vlans}`] : [])],
    pod: (port: PortNode) => [shortId(port.owner), ...[port.ifname].filter(Boolean), ...port.addresses],
  }
}

export function dotText({ node, uplink, networks }: Topology): string {
  const quote = (lines: readonly string[]) => `"${lines.map((line) => line.replace(/["\\]/g, '\\$&')).join('\\n')}"`
  const out = uplink || 'uplink'
  const bridges = new Set<string>()
  const lines = networks.flatMap((network, i) => {
    const labels = labelsOf(network)
    const isNew = !bridges.has(network.bridge)
    bridges.add(network.bridge)
    return [
      `  network${i} [shape=folder, label=${quote(labels.network)}]`,
      ...(isNew ? [`  ${quote([network.bridge])} [shape=box3d, label=${quote(labels.bridge)}]`] : []),
      ...(leaves(network) ? [`  uplink -> network${i} [dir=both${network.masquerade ? ', label="NAT"' : ''}]`] : []),
      `  network${i} -> ${quote([network.bridge])}`,
      ...network.ports.flatMap((port) => [
        `  ${quote([port.name])} [shape=box, label=${quote(labels.port(port))}]`,
        `  ${quote([network.bridge])} -> ${quote([port.name])}`,
        `  ${quote([`pod ${port.name}`])} [shape=component, label=${quote(labels.pod(port))}]`,
        `  ${quote([port.name])} -> ${quote([`pod ${port.name}`])}`,
      ]),
    ]
  })
  const head = ['digraph pontoon {', '  rankdir=LR', '  node [fontname="sans-serif"]', `  label=${quote([node])}`]
  return [...head, `  uplink [shape=ellipse, label=${quote([out])}]`, ...lines, '}'].join('\n')
}

export function mermaidText({ uplink, networks }: Topology): string {
  const quote = (lines: readonly string[]) => `"${lines.map((line) => line.replaceAll('"', '#quot;')).join('<br>')}"`
  const bridges = [...new Set(networks.map(({ bridge }) => bridge))]
  const lines = networks.flatMap((network, i) => {
    const labels = labelsOf(network)
    const bridge = `bridge${bridges.indexOf(network.bridge)}`
    return [
      `  ${leaves(network) ? `uplink <-->${network.masquerade ? '|NAT|' : ''} ` : ''}network${i}[${quote(labels.network)}]`,
      `  network${i} --> ${bridge}[[${quote(labels.bridge)}]]`,
      ...network.ports.flatMap((port, j) => [
        `  ${bridge} --> port${i}x${j}[${quote(labels.port(port))}]`,
        `  port${i}x${j} --> pod${i}x${j}(${quote(labels.pod(port))})`,
      ]),
    ]
  })
  return ['flowchart LR', `  uplink((${quote([uplink || 'uplink'])}))`, ...lines].join('\n')
}
