/**
 * Chains that forwarded packets pass, and whether they let a network's through. Pure.
 *
 * A packet filter can hardly be understood by reading it. What is told here is the common case: a chain that drops
 * whatever no rule accepts, and not one accepting rule around it that names the network's bridge or addresses.
 */
import type { Family } from './ip.ts'

export interface FilterChain {
  /** `iptables`, or `nft`: who removes it, and how. */
  readonly by: 'iptables' | 'nft'
  readonly families: readonly Family[]
  /** `ip filter FORWARD` */
  readonly target: string
  readonly drops: boolean
  /** The text of each rule of its table that accepts. */
  readonly accepts: readonly string[]
}

/** What `iptables-save -t filter` prints. */
export function parseSavedFilter(family: Family, text: string): readonly FilterChain[] {
  const policy = /^:FORWARD (\w+)/m.exec(text)?.[1]
  if (policy === undefined) return []
  const accepts = text.split('\n').filter((line) => line.startsWith('-A ') && / -j (ACCEPT|RETURN)\b/.test(line))
  const target = `${family === 4 ? 'ip' : 'ip6'} filter FORWARD`
  return [{ by: 'iptables', families: [family], target, drops: policy === 'DROP', accepts }]
}

interface NftItem {
  readonly chain?: {
    readonly family: string
    readonly table: string
    readonly name: string
    readonly hook?: string
    readonly policy?: string
  }
  readonly rule?: { readonly family: string; readonly table: string; readonly expr: readonly object[] }
}

const FAMILIES: Readonly<Record<string, readonly Family[]>> = { ip: [4], ip6: [6], inet: [4, 6], bridge: [4, 6] }

/** What `nft -j list ruleset` prints. */
export function parseFilters(text: string): readonly FilterChain[] {
  const items = (JSON.parse(text) as { readonly nftables: readonly NftItem[] }).nftables
  return items.flatMap(({ chain }) => {
    if (chain?.hook !== 'forward') return []
    const rules = items.flatMap(({ rule }) =>
      rule && rule.family === chain.family && rule.table === chain.table ? [rule.expr] : [],
    )
    const accepts = rules.filter((expr) => expr.some((part) => 'accept' in part)).map((expr) => JSON.stringify(expr))
    return [
      {
        by: 'nft',
        families: FAMILIES[chain.family] ?? [],
        target: `${chain.family} ${chain.table} ${chain.name}`,
        drops: chain.policy === 'drop',
        accepts,
      } as const,
    ]
  })
}

/** Does a rule that accepts name one of these words: a bridge, or an address? */
export function letsThrough({ accepts }: FilterChain, words: readonly string[]): boolean {
  return accepts.some((rule) => words.some((word) => mentions(rule, word)))
}

/** The word by itself: `br0` is not in `br01`, nor 10.9.0.1 in 10.9.0.12. */
function mentions(text: string, word: string): boolean {
  const isPart = (character: string | undefined) => character !== undefined && /[\w.:-]/.test(character)
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isPart(text[at - 1]) && !isPart(text[at + word.length])) return true
  }
  return false
}
