/** The checks, in the order in which their findings are told: what stops everything first. */
import { drift, foreignBridge, mtu, obstacles } from './bridge.ts'
import { changedBridge, changedVlan } from './changed.ts'
import { firstPlace, gone, names, none, overlap, readable, routeElsewhere, subnetElsewhere } from './conf.ts'
import type { Check, Facts, Finding } from './facts.ts'
import { forwarding } from './forward.ts'
import { bridgeFilter, conntrack, nftables, rights, tools, vlanFiltering, xtablesLock } from './machine.ts'
import { missingPlugins, otherPlugins } from './plugins.ts'
import { cutOff, duplicateMacs, podDrift, podMtu } from './pods.ts'
import { deadLeases, exhaustion, heldLock, lostLeases, orphanRules, ownerless, unusableStore } from './store.ts'

const CHECKS: readonly Check[] = [
  rights,
  tools,
  missingPlugins,
  nftables,
  none,
  readable,
  names,
  firstPlace,
  gone,
  unusableStore,
  heldLock,
  xtablesLock,
  foreignBridge,
  changedBridge,
  changedVlan,
  vlanFiltering,
  overlap,
  subnetElsewhere,
  routeElsewhere,
  drift,
  obstacles,
  cutOff,
  podDrift,
  duplicateMacs,
  forwarding,
  bridgeFilter,
  conntrack,
  exhaustion,
  lostLeases,
  deadLeases,
  ownerless,
  orphanRules,
  mtu,
  podMtu,
  otherPlugins,
]

/** Everything that is amiss, once: two networks on one bridge share their troubles, but `--fix` runs what either needs. */
export function examine(facts: Facts): readonly Finding[] {
  const all = CHECKS.flatMap((check) => check(facts))
  const isSame = (a: Finding, b: Finding) => a.check === b.check && a.what === b.what && (a.fix === b.fix || !a.isSafe)
  return all.filter((one, i) => all.findIndex((other) => isSame(one, other)) === i)
}
