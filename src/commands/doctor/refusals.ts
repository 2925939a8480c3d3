/**
 * Forward chains that refuse by their last rule, whatever their policy says: firewalld's, and the ruleset that iptables'
 * service comes with.
 */
import type { FilterChain } from '../../core/filters.ts'
import type { Family } from '../../core/ip.ts'
import { runTool } from '../../host/inspect.ts'

/** The chains, those told as dropping that refuse in their last rule. */
export async function withRefusals(chains: readonly FilterChain[]): Promise<readonly FilterChain[]> {
  const [ruleset, four, six] = await Promise.all([
    runTool('nft', '-j', 'list', 'ruleset'),
    runTool('iptables-save', '-t', 'filter'),
    runTool('ip6tables-save', '-t', 'filter'),
  ])
  const refusing = [
    ...(four?.status === 0 ? savedRefusal(4, four.stdout) : []),
    ...(six?.status === 0 ? savedRefusal(6, six.stdout) : []),
    ...(ruleset?.status === 0 ? refusalsIn(ruleset.stdout) : []),
  ]
  return chains.map((chain) => (chain.drops ? chain : (refusing.find((one) => isSame(one, chain)) ?? chain)))
}

const isSame = (a: FilterChain, b: FilterChain) => a.by === b.by && a.target === b.target

/** What `iptables-save -t filter` prints. Pure. */
export function savedRefusal(family: Family, text: string): readonly FilterChain[] {
  const rules = text.split('\n').filter((line) => line.startsWith('-A '))
  const last = rules.findLast((line) => line.startsWith('-A FORWARD ')) ?? ''
  if (!/^-A FORWARD -j (DROP|REJECT)\b/.test(last)) return []
  const accepts = rules.filter((line) => / -[jg] /.test(line) && !/ -j (DROP|REJECT|LOG)\b/.test(line))
  const target = `${family === 4 ? 'ip' : 'ip6'} filter FORWARD`
  return [{ by: 'iptables', families: [family], target, drops: true, accepts }]
}

interface Item {
  readonly chain?: { readonly family: string; readonly table: string; readonly name: string; readonly hook?: string }
  readonly rule?: {
    readonly family: string
    readonly table: string
    readonly chain: string
    readonly expr: readonly object[]
  }
}

const FAMILIES: Readonly<Record<string, readonly Family[]>> = { ip: [4], ip6: [6], inet: [4, 6], bridge: [4, 6] }
const has = (expr: readonly object[], ...keys: readonly string[]) =>
  expr.some((part) => keys.some((key) => key in part))

/** What `nft -j list ruleset` prints. Rules that hand a network's packets on may accept them there. Pure. */
export function refusalsIn(text: string): readonly FilterChain[] {
  const items = (JSON.parse(text) as { readonly nftables: readonly Item[] }).nftables
  return items.flatMap(({ chain }): readonly FilterChain[] => {
    if (chain?.hook !== 'forward') return []
    const rules = items.flatMap(({ rule }) =>
      rule && rule.family === chain.family && rule.table === chain.table ? [rule] : [],
    )
    const last = rules.findLast((rule) => rule.chain === chain.name)?.expr ?? []
    if (!has(last, 'drop', 'reject') || has(last, 'match')) return []
    const accepts = rules
      .filter(({ expr }) => has(expr, 'accept', 'goto', 'jump', 'vmap'))
      .map(({ expr }) => JSON.stringify(expr))
    const target = `${chain.family} ${chain.table} ${chain.name}`
    return [{ by: 'nft', families: FAMILIES[chain.family] ?? [], target, drops: true, accepts }]
  })
}
