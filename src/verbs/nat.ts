/** Takes down what iptables has for an attachment of Pontoon's own. */
import type { Attachment } from '../core/attachment.ts'
import { formatIp, loadIpv6, mentionsIpv6, parseCidr, withoutPrefix } from '../core/ip.ts'
import { iptables } from '../core/kinds/iptables.ts'
import { removalOf } from '../core/nat.ts'
import { chainOf } from '../core/reference.ts'
import type { Of } from '../core/resource.ts'
import { settleNat } from '../host/iptables.ts'
import { isOwner, readOwner } from '../host/leases.ts'

/**
 * The removals, one a family, for addresses with prefix lengths. The chain is the container's: what another interface
 * of it has by now stays.
 */
export async function natRemovals(
  attachment: Attachment,
  addresses: readonly string[],
  storeFolder: string,
  wait?: number,
): Promise<readonly (() => Promise<void>)[]> {
  if (addresses.some(mentionsIpv6)) await loadIpv6()
  const isOthers = (cidr: string) => {
    const owner = readOwner(storeFolder, withoutPrefix(cidr))
    return owner !== undefined && !isOwner(owner, attachment)
  }
  const pods = addresses.flatMap((cidr) => (isOthers(cidr) ? [] : (parseCidr(cidr) ?? [])))
  const chain = chainOf(attachment)
  return ([4, 6] as const).flatMap((family) => {
    const own = pods.filter(({ ip }) => ip.family === family)
    return own.length === 0 ? [] : [() => remove({ kind: 'iptables', family, chain, attachment, pods: own }, wait)]
  })
}

async function remove(gone: Of<'iptables'>, wait: number | undefined): Promise<void> {
  const own = new Set(gone.pods.map(({ ip }) => formatIp(ip)))
  const lines = iptables.remove(gone).flatMap((op) => (op.tool === 'iptables' ? op.lines : []))
  // Another interface of the container may have its jumps to the same chain, which then can't go.
  await settleNat(gone.family, lines, (seen) => removalOf(seen, gone.chain, (ip) => own.has(ip)), wait)
}
