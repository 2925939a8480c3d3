/**
 * GC: removes what belongs to no valid attachment of this network. Without a list only what is provably dead.
 * Everything that can be done is done; what could not is reported at the end.
 */
import * as engine from '#engine'
import type { Request } from '../cni/request.ts'
import { EMPTY_GRACE, reservedAt } from '../host/store.ts'
import { sweep, throwFailures } from '../host/sweep.ts'
import { hasOwnIpam, type Network, networkOf } from './call.ts'
import { findGarbage } from './garbage.ts'

export async function gc({ netconf }: Request): Promise<void> {
  if (netconf.disableGC) return
  const network = networkOf(netconf)
  const { victims, also, nobodys } = await findGarbage(network)
  const failures = await sweep(victims, network, { also }, orphanedFiles(network, nobodys))
  const isOver = netconf.validAttachments?.length === 0 && failures.length === 0
  const more = isOver ? await (await import('./gc-network.ts')).clearNetwork(network) : []
  throwFailures([...failures, ...more], `GC of network "${netconf.name}"`)
}

/** Where there is a list: the addresses whose files have named nobody for so long that no writer is at it. */
function orphanedFiles({ netconf, storeFolder }: Network, nobodys: readonly string[]): readonly string[] {
  if (!netconf.validAttachments || !hasOwnIpam(netconf)) return []
  return nobodys.filter((address) => {
    const made = reservedAt(storeFolder, address)
    return made !== undefined && Math.abs(engine.now() - made) > EMPTY_GRACE
  })
}
