/** Facts of the machine: rights, tools, routes, the table of connections. Reads only. */
import * as engine from '#engine'
import { chooseBackend } from '../../host/backend.ts'
import { readIfThere } from '../../host/files.ts'
import { runTool, versionOf } from '../../host/inspect.ts'
import { readSysctl } from '../../host/machine.ts'
import { lookUpTool, packageOf, TOOL_FOLDERS, type Tool } from '../../host/tools.ts'
import { toolsOf } from '../../verbs/vlans.ts'
import type { NodeNetwork } from '../networks.ts'
import type { Facts, RouteFact, ToolFact } from './facts.ts'

export async function readTools(networks: readonly NodeNetwork[]): Promise<readonly ToolFact[]> {
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

export async function readRoutes(): Promise<readonly RouteFact[]> {
  const exits = await Promise.all(['-4', '-6'].map((family) => runTool('ip', '-j', family, 'route', 'show')))
  const documents = exits.flatMap((exit) => (exit?.status === 0 ? (JSON.parse(exit.stdout || '[]') as unknown[]) : []))
  return (documents as readonly { readonly dst?: string; readonly dev?: string }[]).flatMap(({ dst = '', dev }) => {
    if (dev === undefined || dst === '' || dst === 'default') return []
    const width = dst.includes(':') ? 128 : 32
    return [{ destination: dst.includes('/') ? dst : `${dst}/${width}`, device: dev }]
  })
}

export function readConntrack(): Facts['conntrack'] {
  const [count, max] = ['count', 'max'].map((name) => Number(readSysctl(`net/netfilter/nf_conntrack_${name}`) ?? 0))
  return max ? { count: count ?? 0, max } : undefined
}

/** CAP_NET_ADMIN and CAP_SYS_ADMIN, as in capabilities(7). */
const RIGHTS = (1n << 12n) | (1n << 21n)

export function isPrivileged(): boolean {
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

export function installerOf(): string {
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
