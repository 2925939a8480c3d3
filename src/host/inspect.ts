/** What only people ask for: versions of tools, the whole packet filter, the way out. */
import * as engine from '#engine'
import { type FilterChain, parseFilters, parseSavedFilter } from '../core/filters.ts'
import type { Family } from '../core/ip.ts'
import type { Exit } from '../engine/engine.ts'
import { openSession } from './session.ts'
import { lookUpTool, TOOL_ENV, type Tool } from './tools.ts'

const LIFETIME = 10_000

/** Runs a tool to its end; undefined when it is missing. */
export async function runTool(tool: Tool, ...words: readonly string[]): Promise<Exit | undefined> {
  const path = lookUpTool(tool)
  if (path === undefined) return undefined
  const child = engine.spawn({ argv: [path, ...words], env: TOOL_ENV, deadline: LIFETIME })
  child.end()
  return child.exit
}

/** A line of shell, as an operator types it, with the operator's own PATH in front. */
export async function runShell(line: string): Promise<Exit> {
  const path = [engine.readEnv('PATH'), TOOL_ENV.PATH].filter(Boolean).join(':')
  const child = engine.spawn({ argv: ['/bin/sh', '-c', line], env: { ...TOOL_ENV, PATH: path }, deadline: 60_000 })
  child.end()
  return child.exit
}

/** `6.1.0`, `1.0.6`; '' where it does not say. */
export async function versionOf(tool: Tool): Promise<string> {
  const exit = await runTool(tool, tool === 'ip' || tool === 'bridge' ? '-V' : '--version')
  return /(\d+(?:\.\d+)+)/.exec(exit?.stdout ?? '')?.[1] ?? ''
}

/** Every chain that forwarded packets pass; what iptables shows, under its name. */
export async function readForwarding(): Promise<readonly FilterChain[]> {
  const [ruleset, four, six] = await Promise.all([
    runTool('nft', '-j', 'list', 'ruleset'),
    runTool('iptables-save', '-t', 'filter'),
    runTool('ip6tables-save', '-t', 'filter'),
  ])
  const saved = (
    [
      [4, four],
      [6, six],
    ] as readonly [Family, Exit | undefined][]
  ).flatMap(([family, exit]) => (exit?.status === 0 ? parseSavedFilter(family, exit.stdout) : []))
  const listed = ruleset?.status === 0 ? parseFilters(ruleset.stdout) : []
  // What iptables keeps in nftables shows twice.
  const isSaved = ({ target }: FilterChain) => saved.some((chain) => chain.target === target)
  return [...saved, ...listed.filter((chain) => !isSaved(chain))]
}

/** Can nft talk to the kernel at all? Its words when it can't. */
export async function nftProblem(): Promise<string> {
  const exit = await runTool('nft', 'list', 'tables')
  return exit === undefined || exit.status === 0 ? '' : (exit.stderr.trim().split('\n')[0] ?? '')
}

/** The device of the default route. */
export async function readUplink(): Promise<string | undefined> {
  const session = openSession()
  try {
    const documents = (await session.run(['route show default'])).flat() as readonly { readonly dev?: string }[]
    return documents.find(({ dev }) => dev !== undefined)?.dev
  } finally {
    await session.close()
  }
}
