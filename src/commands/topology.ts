/** `pontoon topology`: networks, bridges, ports, pods and addresses as they are. Reads only. */
import { loadIpv6 } from '../core/ip.ts'
import { readIfThere } from '../host/files.ts'
import { readUplink } from '../host/inspect.ts'
import { readVlans } from '../host/ip-json.ts'
import { openSession } from '../host/session.ts'
import { lookUpTool } from '../host/tools.ts'
import { listConfFiles, readConfFiles, selectNetworks } from './networks.ts'
import { paintHere, print, printAsItIs, printJson } from './output.ts'
import { readAllLinks } from './repair/look.ts'
import { topologyOf } from './topology/model.ts'
import { dotText, mermaidText, treeText } from './topology/text.ts'
import { withLabelled } from './unindexed.ts'
import { viewOf } from './view.ts'

export type TopologyFlags = {
  readonly confDir: string
  readonly format: 'tree' | 'dot' | 'mermaid' | 'svg' | 'json'
  readonly theme: 'auto' | 'light' | 'dark'
  readonly json?: boolean
}

export async function run(flags: TopologyFlags, network?: string): Promise<number> {
  await loadIpv6()
  const known = readConfFiles(listConfFiles(flags.confDir)).flatMap(({ networks }) => networks)
  const links = await readAllLinks()
  const views = selectNetworks(known, network).map((one) => withLabelled(viewOf(one), links))
  const topology = topologyOf(views, {
    node: readIfThere('/proc/sys/kernel/hostname')?.trim() || 'node',
    uplink: (await readUplink()) ?? '',
    links,
    vlans: await readPortVlans(),
  })
  switch (flags.json ? 'json' : flags.format) {
    case 'tree':
      print(treeText(topology, paintHere()))
      break
    case 'dot':
      printAsItIs(dotText(topology))
      break
    case 'mermaid':
      printAsItIs(mermaidText(topology))
      break
    case 'svg':
      printAsItIs((await import('./topology/svg.ts')).svgText(topology, flags.theme))
      break
    case 'json':
      printJson({ version: 1, ...topology })
  }
  return 0
}

/** A kernel without VLANs has none to tell. */
async function readPortVlans() {
  if (lookUpTool('bridge') === undefined) return new Map()
  const session = openSession(undefined, 'bridge')
  try {
    return readVlans(await session.run(['vlan show']))
  } catch {
    return new Map()
  } finally {
    await session.close()
  }
}
