/**
 * What the reference plugins made for an attachment: looked for where the index does not know it. So a node's pods
 * survive the change from the reference to Pontoon, and leave nothing when they go.
 */
import { parseResult } from '../cni/result.ts'
import { once } from '../cni/values.ts'
import type { Family } from '../core/ip.ts'
import { removalOf } from '../core/nat.ts'
import { chainOf, ruleHash, spoofChains, spoofComment } from '../core/reference.ts'
import { listEntries } from '../host/index-files.ts'
import { mayHaveNat, settleNat } from '../host/iptables.ts'
import { openTables, type Tables } from '../host/nft-tables.ts'
import {
  isEmpty,
  type ReferenceRules,
  readReferenceRules,
  removalLines,
  removeReferenceRules,
} from '../host/reference-rules.ts'
import { readLeases } from '../host/store.ts'
import type { Call } from './call.ts'
import { findHostEnds } from './host-ends.ts'
import { withoutPrefix } from './victims.ts'

/** The tables of nf_tables, looked for when they are first asked for. */
export type Look = () => Promise<Tables | undefined>

/** Each removes rules of one kind, and fails by itself. */
export function removalsOf(call: Call, look: Look = once(openTables)): readonly (() => Promise<void>)[] {
  const { attachment } = call
  const removeNat = async (family: Family) => {
    // When nft fails, that is told by those who need it.
    if (!mayHaveNat(family, await look().catch(() => undefined))) return
    const chain = chainOf(attachment)
    const others = addressesOfOthers(call)
    await settleNat(family, undefined, (seen) => removalOf(seen, chain, (address) => !others.has(address)))
  }
  const select = (seen: ReferenceRules) => {
    if (isEmpty(seen)) return []
    const hash = ruleHash(attachment)
    const guard = spoofComment(attachment)
    return removalLines(seen, ({ comment }) => comment.startsWith(hash) || comment === guard, spoofChains(attachment))
  }
  return [() => removeNat(4), () => removeNat(6), async () => removeReferenceRules(select, await look())]
}

/** Those of the container's other interfaces: their jumps to the chain that all of them share have to stay. */
function addressesOfOthers({ owner, storeFolder, indexFolder }: Call): ReadonlySet<string> {
  const isOther = (one: { readonly containerID: string; readonly ifname: string } | undefined) =>
    one?.containerID === owner.containerID && one.ifname !== '' && one.ifname !== owner.ifname
  return new Set([
    ...readLeases(storeFolder).flatMap((lease) => (isOther(lease.owner) ? [lease.address] : [])),
    ...listEntries(indexFolder).flatMap((entry) => (isOther(entry) ? entry.addresses.map(withoutPrefix) : [])),
  ])
}

/** Host ends that are provably the attachment's. */
export async function findLinks(call: Call, reserved: readonly string[], look: Look): Promise<readonly string[]> {
  const { attachment, netconf, request } = call
  const former = parseResult(netconf.prevResult ?? {})
  const guard = spoofComment(attachment)
  const { spoofJumps } = await readReferenceRules(await look())
  return findHostEnds({
    ifname: attachment.ifname,
    netns: request.netns,
    bridge: netconf.bridge,
    addresses: [...reserved, ...former.ips.map(({ address }) => withoutPrefix(address))],
    former,
    guarded: spoofJumps.filter(({ comment }) => comment === guard).map(({ of }) => of),
  })
}
