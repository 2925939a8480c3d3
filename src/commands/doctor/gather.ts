/** Gathers the facts of the whole node. Reads only. */
import * as engine from '#engine'
import { networkInComment } from '../../core/attachment.ts'
import { setPrefix } from '../../core/kinds/masquerade.ts'
import type { SeenLink, SeenMasquerade } from '../../core/resource.ts'
import { gatewayDeviceOf } from '../../core/vlans.ts'
import { isFileError } from '../../engine/engine.ts'
import { nftProblem, readForwarding, readUplink } from '../../host/inspect.ts'
import { hasInetNat, readSysctl } from '../../host/machine.ts'
import { readRules } from '../../host/nft-tables.ts'
import { NO_MASQUERADE } from '../../host/observe.ts'
import { lookUpTool } from '../../host/tools.ts'
import { readPorts } from '../../verbs/ports.ts'
import { findGarbageItems } from '../gc.ts'
import { CONF_DIR, type ConfFile, NO_BRIDGE, type NodeNetwork, ownCommand, strayNetworks } from '../networks.ts'
import { endProgress, tellProgress } from '../progress.ts'
import { obstaclesAhead } from '../repair/ahead.ts'
import { cutOff } from '../repair/desired.ts'
import { lookInside } from '../repair/inside.ts'
import { readAllLinks } from '../repair/look.ts'
import { findRepairs } from '../repair.ts'
import { withLabelled } from '../unindexed.ts'
import { type NetworkView, viewOf } from '../view.ts'
import type { Facts, NetworkFacts } from './facts.ts'
import { installerOf, isPrivileged, readConntrack, readRoutes, readTools } from './gather-machine.ts'
import { readLock } from './lock.ts'
import { readPlugins, versionText } from './plugins.ts'
import { withRefusals } from './refusals.ts'
import { findStoreProblem } from './store-folder.ts'
import { readXtablesLock } from './xtables-lock.ts'

/** @param folder where the files were found; '' when they were named */
export async function gather(files: readonly ConfFile[], folder: string): Promise<Facts> {
  const networks = files.flatMap((file) => file.networks)
  const tools = await readTools(networks)
  const hasIp = tools.every(({ tool, path }) => path !== undefined || !['ip', 'nsenter'].includes(tool))
  const hasNft = lookUpTool('nft') !== undefined
  const forwarding = await withRefusals(await readForwarding())
  const problem = await nftProblem()
  const rules = hasNft && problem === '' ? await readRules(hasInetNat()) : NO_MASQUERADE
  const filter = readSysctl('net/bridge/bridge-nf-call-iptables')
  const links: ReadonlyMap<string, SeenLink> = hasIp ? await readAllLinks() : new Map()
  const uplink = hasIp ? await readUplink() : undefined
  const all: NetworkFacts[] = []
  const unreadable: string[] = []
  for (const [i, network] of networks.entries()) {
    tellProgress(`looking at ${network.name}, network ${i + 1} of ${networks.length}`)
    try {
      all.push(await gatherNetwork(network, { rules, links, hasIp, uplink }))
    } catch (error) {
      if (!isFileError(error, 'EACCES', 'EPERM')) throw error
      unreadable.push(network.name)
    }
  }
  endProgress()
  return {
    command: ownCommand(),
    now: engine.now(),
    engine: engine.describeEngine(),
    kernel: readSysctl('kernel/osrelease') ?? '',
    isPrivileged: isPrivileged(),
    installer: installerOf(),
    tools,
    plugins: await readPlugins(networks),
    version: versionText(),
    xtables: await readXtablesLock(),
    routes: await readRoutes(),
    conntrack: readConntrack(),
    folder,
    nftProblem: problem,
    links,
    uplink,
    bridgeFilter: filter === undefined ? undefined : filter === '1',
    hasKubeProxy: forwarding.some(({ accepts }) => accepts.some((rule) => rule.includes('KUBE-'))),
    forwarding,
    files,
    networks: all,
    strays: folder !== CONF_DIR || unreadable.length > 0 ? [] : findStrays(networks),
    unreadable,
  }
}

interface Node {
  readonly rules: SeenMasquerade
  readonly links: ReadonlyMap<string, SeenLink>
  readonly hasIp: boolean
  readonly uplink: string | undefined
}

async function gatherNetwork(network: NodeNetwork, node: Node): Promise<NetworkFacts> {
  const { rules, links, hasIp } = node
  const view = withLabelled(viewOf(network), links)
  const repairs = hasIp ? await findRepairs(view) : { steps: [], obstacles: [] }
  return {
    ...view,
    repairs: { ...repairs, obstacles: [...repairs.obstacles, ...(await obstaclesAhead(view, links))] },
    ...(hasIp ? await lookInside(view, links) : { inside: [], byMac: new Map() }),
    cutOff: cutOff(view),
    dead: hasIp ? await findGarbageItems(network) : [],
    // Without links nobody knows whose the rules are.
    orphans: hasIp ? orphansOf(view, rules) : [],
    isQuiet: hasIp && (await readPorts(network)).isQuiet,
    lock: readLock(network.storeFolder),
    storeProblem: await findStoreProblem(network.storeFolder),
    indexProblem: await findStoreProblem(network.indexFolder),
    notForwarding: notForwarding(network, node),
  }
}

function findStrays(networks: readonly NodeNetwork[]): Facts['strays'] {
  return strayNetworks(networks).flatMap((stray) => {
    const { known, rows } = viewOf(stray)
    // Other plugins keep networks in this store, too, whose configurations may be anywhere.
    if (known.length === 0) return []
    const living = known.filter(({ isDead }) => !isDead).length
    return [{ name: stray.name, reservations: rows.length, living, isKnown: stray.netconf.bridge !== NO_BRIDGE }]
  })
}

/** The node's switch turns all devices on; afterwards each can be turned off by itself. */
function notForwarding({ netconf }: NodeNetwork, { uplink = '' }: Node): readonly string[] {
  if (!netconf.isGateway || readSysctl('net/ipv4/ip_forward') !== '1') return []
  const devices = [gatewayDeviceOf(netconf), uplink].filter((name) => name !== '')
  return devices.filter((name) => readSysctl(`net/ipv4/conf/${name}/forwarding`) === '0')
}

/** Elements of the network whose address, or port, no row has. */
function orphansOf({ network, rows, known: pods }: NetworkView, rules: SeenMasquerade): readonly string[] {
  const hostEnds = pods.map(({ entry }) => entry.hostVeth)
  const known = new Set([...rows.flatMap(({ address, hostVeth }) => [address, hostVeth]), ...hostEnds])
  return [...rules.elements].flatMap(([element, comment]) => {
    const [, , set = '', key = ''] = element.split(' ')
    const prefix = setPrefix(network.name)
    const isOurs = set.slice(0, set.lastIndexOf('-') + 1) === prefix || networkInComment(comment) === network.name
    return isOurs && !known.has(key) ? [element] : []
  })
}
