/** What `nft -j` prints, and what of it Pontoon goes by. Pure. */
import type { SeenMasquerade } from '../core/resource.ts'

/** libnftables-json(5), the members that are read. */
export interface NftObject {
  readonly table?: { readonly family: string; readonly name: string }
  readonly set?: {
    readonly family: string
    readonly table: string
    readonly name: string
    readonly elem?: readonly (NftValue | { readonly elem: { readonly val: NftValue; readonly comment?: string } })[]
  }
  readonly chain?: {
    readonly family: string
    readonly table: string
    readonly name: string
    /** Of a base chain: the kernel brings packets to it. */
    readonly hook?: string
  }
  readonly rule?: {
    readonly family: string
    readonly table: string
    readonly chain: string
    readonly handle: number
    readonly comment?: string
    readonly expr: readonly NftExpression[]
  }
}

type NftValue = string | { readonly concat: readonly string[] }

interface NftExpression {
  readonly match?: { readonly right?: unknown }
  readonly masquerade?: unknown
  readonly drop?: unknown
  readonly notrack?: unknown
  readonly goto?: { readonly target: string }
  readonly jump?: { readonly target: string }
}

/** What Pontoon's rules do. A rule that does none of it serves no set, whatever it looks into. */
const DEEDS = ['masquerade', 'snat', 'drop', 'notrack'] as const

export function parseMasquerade(objects: readonly NftObject[]): SeenMasquerade {
  const elements = new Map<string, string>()
  const served = new Set<string>()
  const idle = new Set<string>()
  const reached = reachedChains(objects)
  for (const { set, rule } of objects) {
    for (const item of set?.elem ?? []) {
      // What has a comment is wrapped: { elem: { val, comment } }.
      const { val, comment = '' } = typeof item !== 'string' && 'elem' in item ? item.elem : { val: item }
      const key = typeof val === 'string' ? val : val.concat.join(' . ')
      elements.set(`${set?.family} ${set?.table} ${set?.name} ${key}`, comment)
    }
    if (!rule?.expr.some((expression) => DEEDS.some((deed) => deed in expression))) continue
    for (const { match } of rule.expr) {
      if (typeof match?.right !== 'string' || !match.right.startsWith('@')) continue
      const sets = reached.has(pathOf(rule, rule.chain)) ? served : idle
      sets.add(`${rule.family} ${rule.table} ${match.right.slice(1)}`)
    }
  }
  return { elements, served, idle }
}

/** `inet cni_plugins_masquerade postrouting`: how a chain is called among those reached. */
export const pathOf = ({ family, table }: { readonly family: string; readonly table: string }, chain: string) =>
  `${family} ${table} ${chain}`

/** Base chains, and where their rules lead. Behind which hook that is may be left to the kernel: it masquerades behind one alone. */
export function reachedChains(objects: readonly NftObject[]): ReadonlySet<string> {
  const ways = new Map<string, readonly string[]>()
  for (const { rule } of objects) {
    const targets = rule?.expr.flatMap((one) => one.goto?.target ?? one.jump?.target ?? []) ?? []
    if (!rule || targets.length === 0) continue
    const from = pathOf(rule, rule.chain)
    ways.set(from, [...(ways.get(from) ?? []), ...targets.map((target) => pathOf(rule, target))])
  }
  // A set hands out what is added to it on the way, too.
  const reached = new Set(objects.flatMap(({ chain }) => (chain?.hook ? [pathOf(chain, chain.name)] : [])))
  for (const chain of reached) for (const next of ways.get(chain) ?? []) reached.add(next)
  return reached
}
