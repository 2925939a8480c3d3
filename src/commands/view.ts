/** What is known of a network without asking the kernel for more than whether things are there. */
import * as engine from '#engine'
import type { RangeSet } from '../core/ranges.ts'
import { type IndexEntry, listEntries } from '../host/index-files.ts'
import { readLeases, reservedAt } from '../host/leases.ts'
import { hasOwnIpam, isDelegated, isEntryDead } from '../verbs/call.ts'
import { parseWish } from '../verbs/claim.ts'
import { withoutPrefix } from '../verbs/victims.ts'
import { compareAddresses, type Known, type LeaseRow, type RangeUse, rowsOf, usage } from './leases/rows.ts'
import type { NodeNetwork } from './networks.ts'

export interface NetworkView {
  readonly network: NodeNetwork
  readonly sets: readonly RangeSet[]
  readonly known: readonly Known[]
  readonly rows: readonly LeaseRow[]
  readonly ranges: readonly RangeUse[]
}

export function viewOf(network: NodeNetwork): NetworkView {
  const { storeFolder, indexFolder } = network
  const known = listEntries(indexFolder)
    .toSorted((a, b) => compareAddresses(firstOf(a), firstOf(b)))
    .map((entry) => ({ entry, isDead: isEntryDead(entry) }))
  const sets = setsOf(network)
  const all = rowsOf(readLeases(storeFolder), known, (address) => reservedAt(storeFolder, address))
  // Another IPAM plugin keeps them elsewhere: that they are not in this store means nothing.
  const rows = isDelegated(network.netconf) ? all.map((row) => ({ ...row, reserved: true })) : all
  const reserved = rows.filter((row) => row.reserved).map(({ address }) => address)
  return { network, sets, known, rows, ranges: usage(sets, reserved) }
}

/** None where another IPAM plugin keeps the addresses, or there is no configuration. */
export function setsOf({ netconf, file }: NodeNetwork): readonly RangeSet[] {
  if (file === '' || !hasOwnIpam(netconf)) return []
  return parseWish({ ...netconf, runtimeConfig: { ...netconf.runtimeConfig, ips: [] } }, []).sets
}

function firstOf({ addresses }: IndexEntry): string {
  return withoutPrefix(addresses[0] ?? '')
}

export function ageOf({ since }: LeaseRow): number | undefined {
  return since === undefined ? undefined : Math.max(0, engine.now() - since)
}
