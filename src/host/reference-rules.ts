/** The nft rules and chains of the reference plugin, which its comments and names tell. */

import { TABLE } from '../core/kinds/masquerade.ts'
import { nftFault, runNft } from './nft.ts'
import { type NftObject, pathOf, reachedChains } from './nft-json.ts'
import { openTables, type Tables } from './nft-tables.ts'

interface Rule {
  /** `inet cni_plugins_masquerade masq_checks handle 6`: what nft deletes it by. */
  readonly target: string
  readonly comment: string
  /** What its first match wants: an address, or the name of a link. */
  readonly of: string
  /** Packets come to it. */
  readonly isReached: boolean
}

export interface ReferenceRules {
  readonly masquerade: readonly Rule[]
  /** Jumps of ports to their hardware address filter. */
  readonly spoofJumps: readonly Rule[]
  /** All chains of the table with these filters. */
  readonly spoofChains: ReadonlySet<string>
}

const NONE: ReferenceRules = { masquerade: [], spoofJumps: [], spoofChains: new Set() }

export function isEmpty({ masquerade, spoofJumps, spoofChains }: ReferenceRules): boolean {
  return masquerade.length === 0 && spoofJumps.length === 0 && spoofChains.size === 0
}

export async function readReferenceRules(tables?: Tables): Promise<ReferenceRules> {
  const seen = tables ?? (await openTables())
  if (!seen) return NONE
  const [inet, bridge] = await Promise.all([seen.read('inet', TABLE), seen.read('bridge', 'nat')])
  return {
    masquerade: rulesIn(inet, `inet ${TABLE}`),
    spoofJumps: rulesIn(bridge, 'bridge nat').filter(({ target }) => target.startsWith('bridge nat PREROUTING ')),
    spoofChains: new Set(bridge.flatMap(({ chain }) => (chain ? [chain.name] : []))),
  }
}

function rulesIn(objects: readonly NftObject[], table: string): readonly Rule[] {
  const reached = reachedChains(objects)
  return objects.flatMap(({ rule }) => {
    if (!rule?.comment) return []
    const first = rule.expr.find(({ match }) => match)?.match?.right
    const of = typeof first === 'string' ? first : ''
    const isReached = reached.has(pathOf(rule, rule.chain))
    return [{ target: `${table} ${rule.chain} handle ${rule.handle}`, comment: rule.comment, of, isReached }]
  })
}

/** The lines that remove some of the rules, and some of the filters' chains, those that are there. */
export function removalLines(
  { masquerade, spoofJumps, spoofChains }: ReferenceRules,
  isGone: (rule: Rule) => boolean,
  chains: readonly string[],
): readonly string[] {
  return [
    ...[...masquerade, ...spoofJumps].filter(isGone).map(({ target }) => `delete rule ${target}`),
    ...chains
      .filter((chain) => spoofChains.has(chain))
      .flatMap((chain) => [`flush chain bridge nat ${chain}`, `delete chain bridge nat ${chain}`]),
  ]
}

/**
 * Looks, and removes what `select` finds; again when something went in between.
 * @param tables as they were a moment ago: where nothing is found in them, they are not looked at again
 * @throws Fault 102 with nft's words
 */
export async function removeReferenceRules(
  select: (seen: ReferenceRules) => readonly string[],
  tables?: Tables,
): Promise<void> {
  if (tables && select(await readReferenceRules(tables)).length === 0) return
  for (let attempt = 0; ; attempt++) {
    const lines = select(await readReferenceRules())
    const failure = lines.length > 0 ? await runNft(lines) : undefined
    if (!failure) return
    if (failure.code !== 'ENOENT' || attempt === 2) throw nftFault(failure)
  }
}
