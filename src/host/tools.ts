/**
 * The programs that Pontoon drives, found in a fixed list of folders: never by PATH, which the caller's environment
 * decides.
 */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'

export type Tool =
  | 'ip'
  | 'bridge'
  | 'nsenter'
  | 'nft'
  | 'tee'
  | 'stat'
  | 'timeout'
  | 'logger'
  | 'setpriv'
  | 'iptables-save'
  | 'iptables-restore'
  | 'ip6tables-save'
  | 'ip6tables-restore'

/** Where tools are looked for, in this order. The last one is NixOS'. */
export const TOOL_FOLDERS = [
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
  '/usr/local/sbin',
  '/usr/local/bin',
  '/run/current-system/sw/bin',
] as const

const PACKAGE: Readonly<Record<Tool, string>> = {
  ip: 'iproute2',
  bridge: 'iproute2',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  nft: 'nftables',
  'iptables-save': 'iptables',
  'iptables-restore': 'iptables',
  'ip6tables-save': 'iptables',
  'ip6tables-restore': 'iptables',
  tee: 'coreutils',
  stat: 'coreutils',
  timeout: 'coreutils',
  logger: 'util-linux',
}

/** What children get as their environment: nothing of the caller's. */
export const TOOL_ENV: Readonly<Record<string, string>> = { PATH: TOOL_FOLDERS.join(':'), LC_ALL: 'C' }

/** The absolute path of a tool, undefined when it is in none of the folders. */
export function lookUpTool(tool: Tool): string | undefined {
  for (const folder of TOOL_FOLDERS) if (isThere(`${folder}/${tool}`)) return `${folder}/${tool}`
  return undefined
}

function isThere(path: string): boolean {
  try {
    return (engine.statIfThere(path)?.size ?? 0) > 0
  } catch {
    return false
  }
}

/** What distributions call the package that has it. */
export function packageOf(tool: Tool): string {
  return PACKAGE[tool]
}

/** @throws Fault 104 naming the tool and the package that has it */
export function findTool(tool: Tool): string {
  const path = lookUpTool(tool)
  if (path !== undefined) return path
  const remedy = `looked in ${TOOL_FOLDERS.join(', ')}; install the package ${PACKAGE[tool]}`
  throw new Fault(CODE.tool, `the tool ${tool} is missing`, remedy)
}
