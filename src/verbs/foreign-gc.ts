/** GC of what has the reference's form: rules and chains of this network, and host ends, of attachments that are gone. */
import type { NetConf } from '../cni/netconf.ts'
import type { Attachment } from '../core/attachment.ts'
import { chainsOf, removalOf, type SavedNat } from '../core/nat.ts'
import { networkHash, ruleHash, spoofChains, spoofComment } from '../core/reference.ts'
import { mayHaveNat, settleNat } from '../host/iptables.ts'
import type { Tables } from '../host/nft-tables.ts'
import { isEmpty, type ReferenceRules, removalLines, removeReferenceRules } from '../host/reference-rules.ts'
import type { Victim } from '../host/sweep.ts'
import { findHostEndsOf } from './host-ends.ts'

/** What it is decided by. */
export interface Ground {
  readonly netconf: NetConf
  readonly victims: readonly Victim[]
  /** Those that stay; undefined when there is no list, so that only the victims are gone for sure. */
  readonly spared: readonly Attachment[] | undefined
  /** Whose an address is, of those that stay: `containerID address`. */
  readonly kept: ReadonlySet<string>
  /** As nf_tables was when all of this was found out; undefined without nft. */
  readonly tables: Tables | undefined
}

export function removalsOf(garbage: Ground): readonly (() => Promise<void>)[] {
  const families = ([4, 6] as const).filter((family) => mayHaveNat(family, garbage.tables))
  return [
    ...families.map((family) => () => settleNat(family, undefined, (seen) => natLines(garbage, seen))),
    () => removeReferenceRules((seen) => nftLines(garbage, seen), garbage.tables),
  ]
}

/** The host ends of the victims that are not Pontoon's. */
export function findLinks({ netconf, victims }: Ground): Promise<readonly string[]> {
  const suspects = victims.filter(({ links }) => links.length === 0)
  return findHostEndsOf(
    suspects.map(({ owner, addresses }) => ({ ifname: owner.ifname, addresses })),
    netconf.bridge,
  )
}

function natLines({ netconf, victims, spared, kept }: Ground, seen: SavedNat): readonly string[] {
  const gone = new Set(victims.flatMap(({ owner, addresses }) => addresses.map((ip) => `${owner.containerID} ${ip}`)))
  const ids = spared && new Set(spared.map(({ containerID }) => containerID))
  // A comment holds the front of a very long ID.
  const stays = (id: string) => ids?.has(id) || (id.length > 200 && [...(ids ?? [])].some((one) => one.startsWith(id)))
  return [...chainsOf(seen, netconf.name)].flatMap(([chain, containerID]) =>
    removalOf(seen, chain, (address) => {
      const jump = `${containerID} ${address}`
      return !kept.has(jump) && (gone.has(jump) || (ids !== undefined && !stays(containerID)))
    }),
  )
}

function nftLines({ netconf, victims, spared }: Ground, seen: ReferenceRules): readonly string[] {
  if (isEmpty(seen)) return []
  const network = networkHash(netconf.name)
  const own = seen.masquerade.filter(({ comment }) => comment.startsWith(network))
  const hashOf = (comment: string) => comment.slice(0, network.length + 16)
  // A digest for each attachment: only where there is something to tell.
  const stays = own.length > 0 && spared ? new Set(spared.map(ruleHash)) : undefined
  const gone = own.length > 0 ? new Set(victims.map(({ attachment }) => ruleHash(attachment))) : undefined
  const guards = new Set(victims.map(({ attachment }) => spoofComment(attachment)))
  return removalLines(
    seen,
    ({ comment }) => {
      if (guards.has(comment)) return true
      const hash = hashOf(comment)
      return comment.startsWith(network) && (gone?.has(hash) || (stays !== undefined && !stays.has(hash)))
    },
    victims.flatMap(({ attachment }) => spoofChains(attachment)),
  )
}
