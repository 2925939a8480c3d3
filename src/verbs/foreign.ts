/**
 * What the reference plugins made for an attachment: looked for where the index does not know it. So a node's pods
 * survive the change from the reference to Pontoon, and leave nothing when they go.
 */
import { parseResult } from '../cni/result.ts'
import type { Family } from '../core/ip.ts'
import { removalOf } from '../core/nat.ts'
import { chainOf, ruleHash, spoofChains, spoofComment } from '../core/reference.ts'
import { listEntries } from '../host/index-files.ts'
import { settleNat } from '../host/iptables.ts'
import { type ReferenceRules, readReferenceRules, removalLines, removeReferenceRules } from '../host/reference-rules.ts'
import { readLeases } from '../host/store.ts'
import type { Call } from './call.ts'
import { findLinks } from './foreign-links.ts'
import { type Traced, withoutPrefix } from './victims.ts'

export interface Foreign {
  /** Host ends that are provably the attachment's. */
  readonly links: readonly string[]
  /** Each removes rules of one kind, and fails by itself. */
  readonly removals: readonly (() => Promise<void>)[]
}

export async function findForeign({ request, attachment, netconf, ...call }: Call, traced: Traced): Promise<Foreign> {
  const former = parseResult(netconf.prevResult ?? {})
  const guard = spoofComment(attachment)
  const guarded = (await readReferenceRules()).spoofJumps.filter(({ comment }) => comment === guard)
  const links = await findLinks({
    ifname: attachment.ifname,
    netns: request.netns,
    bridge: netconf.bridge,
    addresses: [...traced.addresses, ...former.ips.map(({ address }) => withoutPrefix(address))],
    former,
    guarded: guarded.map(({ of }) => of),
  })
  const chain = chainOf(attachment)
  const others = addressesOfOthers(call)
  const removeNat = (family: Family) =>
    settleNat(family, undefined, (seen) => removalOf(seen, chain, (address) => !others.has(address)))
  const hash = ruleHash(attachment)
  const select = (seen: ReferenceRules) =>
    removalLines(seen, ({ comment }) => comment.startsWith(hash) || comment === guard, spoofChains(attachment))
  return { links, removals: [() => removeNat(4), () => removeNat(6), () => removeReferenceRules(select)] }
}

/** Those of the container's other interfaces: their jumps to the chain that all of them share have to stay. */
function addressesOfOthers({
  owner,
  storeFolder,
  indexFolder,
}: Pick<Call, 'owner' | 'storeFolder' | 'indexFolder'>): ReadonlySet<string> {
  const isOther = (one: { readonly containerID: string; readonly ifname: string } | undefined) =>
    one?.containerID === owner.containerID && one.ifname !== '' && one.ifname !== owner.ifname
  return new Set([
    ...readLeases(storeFolder).flatMap((lease) => (isOther(lease.owner) ? [lease.address] : [])),
    ...listEntries(indexFolder).flatMap((entry) => (isOther(entry) ? entry.addresses.map(withoutPrefix) : [])),
  ])
}
