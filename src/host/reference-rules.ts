/** The nft rules and chains of the reference plugin, which its comments and names tell. */

import { TABLE } from '../core/kinds/masquerade.ts'
import { type NftObject, nftFault, readTable, runNft } from './nft.ts'
import { lookUpTool } from './tools.ts'

interface Rule {
  /** `inet cni_plugins_masquerade masq_checks handle 6`: what nft deletes it by. */
  readonly target: string
  readonly comment: string
  /** What its first match wants: an address, or the name of a link. */
  readonly of: string
}

export interface ReferenceRules {
  readonly masquerade: readonly Rule[]
  /** Jumps of ports to their hardware address filter. */
  readonly spoofJumps: readonly Rule[]
  /** All chains of the table with these filters. */
  readonly spoofChains: ReadonlySet<string>
}

const NONE: ReferenceRules = { masquerade: [], spoofJumps: [], spoofChains: new Set() }

export async function readReferenceRules(): Promise<ReferenceRules> {
  if (lookUpTool('nft') === undefined) return NONE
  const [inet, bridge] = await Promise.all([readTable('inet', TABLE), readTable('bridge', 'nat')])
  return {
    masquerade: rulesIn(inet, `inet ${TABLE}`),
    spoofJumps: rulesIn(bridge, 'bridge nat').filter(({ target }) => target.startsWith('bridge nat PREROUTING ')),
    spoofChains: new Set(bridge.flatMap(({ chain }) => (chain ? [chain.name] : []))),
  }
}

function rulesIn(objects: readonly NftObject[], table: string): readonly Rule[] {
  return objects.flatMap(({ rule }) => {
    if (!rule?.comment) return []
    const first = rule.expr.find(({ match }) => match)?.match?.right
    const of = typeof first === 'string' ? first : ''
    return [{ target: `${table} ${rule.chain} handle ${rule.handle}`, comment: rule.comment, of }]
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
 * @throws Fault 102 with nft's words
 */
export async function removeReferenceRules(select: (seen: ReferenceRules) => readonly string[]): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const lines = select(await readReferenceRules())
    const failure = lines.length > 0 ? await runNft(lines) : undefined
    if (!failure) return
    if (failure.code !== 'ENOENT' || attempt === 2) throw nftFault(failure)
  }
}
