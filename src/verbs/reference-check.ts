/** What CHECK sees of rules that are not in Pontoon's own form: iptables' chains, and what the reference made. */
import type { Family } from '../core/ip.ts'
import { jumpersOf } from '../core/nat.ts'
import { chainOf, ruleHash, spoofComment } from '../core/reference.ts'
import type { Observed, Resource } from '../core/resource.ts'
import { readNat } from '../host/iptables.ts'
import { readReferenceRules } from '../host/reference-rules.ts'
import type { Call } from './call.ts'

const FAMILIES: readonly Family[] = [4, 6]

/** The rules of the families that Pontoon masquerades by iptables. */
export async function lookAtNat(desired: readonly Resource[]): Promise<Observed['nat']> {
  const families = desired.flatMap((resource) => (resource.kind === 'iptables' ? [resource.family] : []))
  const seen = await Promise.all(families.map(async (family) => [family, (await readNat(family)).rules] as const))
  return new Map(seen)
}

/** What the reference made for an attachment that the index does not know, by either of its backends. */
export async function lookAtReference({
  attachment,
}: Pick<Call, 'attachment'>): Promise<Pick<Observed, 'masqueraded' | 'guarded'>> {
  const [rules, ...nat] = await Promise.all([readReferenceRules(), ...FAMILIES.map(readNat)])
  const hash = ruleHash(attachment)
  const guard = spoofComment(attachment)
  const chain = chainOf(attachment)
  const byIptables = nat
    .filter((seen) => seen.rules.some((rule) => rule.chain === chain && rule.target === 'MASQUERADE'))
    .flatMap((seen) => jumpersOf(seen, chain))
  const byNft = rules.masquerade
    .filter(({ comment, isReached }) => isReached && comment.startsWith(hash))
    .map(({ of }) => of)
  return {
    masqueraded: new Set([...byIptables, ...byNft]),
    guarded: new Set(rules.spoofJumps.filter(({ comment }) => comment === guard).map(({ of }) => of)),
  }
}
