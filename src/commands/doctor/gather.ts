/** Gathers the facts of the whole node. Reads only. */
import * as engine from '#engine'
import { networkInComment } from '../../core/attachment.ts'
import { setPrefix } from '../../core/kinds/masquerade.ts'
import type { SeenLink, SeenMasquerade } from '../../core/resource.ts'
import { chooseBackend } from '../../host/backend.ts'
import { readIfThere } from '../../host/files.ts'
import { nftProblem, readForwarding, readUplink, versionOf } from '../../host/inspect.ts'
import { hasInetNat, readSysctl } from '../../host/machine.ts'
import { readRules } from '../../host/nft-tables.ts'
import { NO_MASQUERADE } from '../../host/observe.ts'
import { lookUpTool, packageOf, TOOL_FOLDERS, type Tool } from '../../host/tools.ts'
import { readPorts } from '../../verbs/ports.ts'
import { toolsOf } from '../../verbs/vlans.ts'
import { findGarbageItems } from '../gc.ts'
import { type ConfFile, type NodeNetwork, ownCommand } from '../networks.ts'
import { cutOff } from '../repair/desired.ts'
import { findInside } from '../repair/inside.ts'
import { readAllLinks } from '../repair/look.ts'
import { findRepairs } from '../repair.ts'
import { withLabelled } from '../unindexed.ts'
import { type NetworkView, viewOf } from '../view.ts'
import type { Facts, NetworkFacts, ToolFact } from './facts.ts'
import { readLock } from './lock.ts'
import { findStoreProblem } from './store-folder.ts'

export async function gather(files: readonly ConfFile[]): Promise<Facts> {
  const networks = files.flatMap((file) => file.networks)
  const tools = await readTools(networks)
  const hasIp = tools.every(({ tool, path }) => path !== undefined || !['ip', 'nsenter'].includes(tool))
  const hasNft = lookUpTool('nft') !== undefined
  const forwarding = await readForwarding()
  const problem = await nftProblem()
  const rules = hasNft && problem === '' ? await readRules(hasInetNat()) : NO_MASQUERADE
  const filter = readSysctl('net/bridge/bridge-nf-call-iptables')
  const links: ReadonlyMap<string, SeenLink> = hasIp ? await readAllLinks() : new Map()
  const all: NetworkFacts[] = []
  for (const network of networks) all.push(await gatherNetwork(network, { rules, links, hasIp }))
  return {
    command: ownCommand(),
    now: engine.now(),
    engine: engine.describeEngine(),
    kernel: readSysctl('kernel/osrelease') ?? '',
    isPrivileged: isPrivileged(),
    installer: installerOf(),
    tools,
    nftProblem: problem,
    links,
    uplink: hasIp ? await readUplink() : undefined,
    bridgeFilter: filter === undefined ? undefined : filter === '1',
    hasKubeProxy: forwarding.some(({ accepts }) => accepts.some((rule) => rule.includes('KUBE-'))),
    forwarding,
    files,
    networks: all,
  }
}

interface Node {
  readonly rules: SeenMasquerade
  readonly links: ReadonlyMap<string, SeenLink>
  readonly hasIp: boolean
}

async function gatherNetwork(network: NodeNetwork, { rules, links, hasIp }: Node): Promise<NetworkFacts> {
  const view = withLabelled(viewOf(network), links)
  return {
    ...view,
    repairs: hasIp ? await findRepairs(view) : { steps: [], obstacles: [] },
    inside: hasIp ? await findInside(view, links) : [],
    cutOff: cutOff(view),
    dead: hasIp ? await findGarbageItems(network) : [],
    orphans: orphansOf(view, rules),
    isQuiet: hasIp && (await readPorts(network)).isQuiet,
    lock: readLock(network.storeFolder),
    storeProblem: await findStoreProblem(network.storeFolder),
  }
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

async function readTools(networks: readonly NodeNetwork[]): Promise<readonly ToolFact[]> {
  const needed = new Map<Tool, Set<string>>()
  for (const { name, netconf } of networks) {
    const own = { ...netconf, ipMasqBackend: chooseBackend(netconf.ipMasqBackend) }
    for (const tool of toolsOf(own)) needed.set(tool, (needed.get(tool) ?? new Set()).add(name))
  }
  for (const tool of ['ip', 'nsenter', 'nft'] as const) if (!needed.has(tool)) needed.set(tool, new Set())
  return Promise.all(
    [...needed].map(async ([tool, names]) => ({
      tool,
      package: packageOf(tool),
      path: lookUpTool(tool),
      version: await versionOf(tool),
      neededBy: [...names],
    })),
  )
}

/** CAP_NET_ADMIN and CAP_SYS_ADMIN, as in capabilities(7). */
const RIGHTS = (1n << 12n) | (1n << 21n)

function isPrivileged(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(readIfThere('/proc/self/status') ?? '')?.[1] ?? '0'
  return (BigInt(`0x${effective}`) & RIGHTS) === RIGHTS
}

const INSTALLERS = {
  'apt-get': 'apt-get install -y',
  dnf: 'dnf install -y',
  zypper: 'zypper install -y',
  apk: 'apk add',
  pacman: 'pacman -S --noconfirm',
} as const

function installerOf(): string {
  const has = (name: string) => TOOL_FOLDERS.some((folder) => canStat(`${folder}/${name}`))
  const found = Object.entries(INSTALLERS).find(([name]) => has(name))
  return found?.[1] ?? 'apt-get install -y'
}

function canStat(path: string): boolean {
  try {
    return engine.stat(path).size > 0
  } catch {
    return false
  }
}
