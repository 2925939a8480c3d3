/** Pods that came to another bridge or VLAN than the configuration names by now. They stay there. */
import type { IndexEntry } from '../../host/index-files.ts'
import { shellWord } from '../ops.ts'
import { count } from '../text.ts'
import { type NetworkFacts, ofEach } from './facts.ts'

export const changedBridge = ofEach((facts) => {
  const { netconf, file } = facts.network
  const elsewhere = livingOf(facts).filter(({ bridge }) => bridge !== '' && bridge !== netconf.bridge)
  return groupedBy(elsewhere, ({ bridge }) => bridge).map(([bridge, pods]) => ({
    check: 'bridge-changed',
    level: 'error',
    what: `${count(pods.length, 'living pod')} came to ${bridge}, and the configuration says ${netconf.bridge}`,
    why: 'the subnet is behind two bridges: old and new pods don’t reach each other, nor the node all of them',
    fix: `vi ${shellWord(file)}  # "bridge": "${bridge}", as long as they live`,
    isSafe: false,
  }))
})

export const changedVlan = ofEach((facts) => {
  const { netconf, file } = facts.network
  const elsewhere = livingOf(facts).filter(
    // Those of another bridge are told by that.
    ({ bridge, vlan = netconf.vlan }) => bridge === netconf.bridge && vlan !== netconf.vlan,
  )
  return groupedBy(elsewhere, ({ vlan = 0 }) => vlan).map(([vlan, pods]) => ({
    check: 'vlan-changed',
    level: 'error',
    what: `${count(pods.length, 'living pod')} came to ${placeOf(vlan)} of ${netconf.bridge}, and the configuration says ${placeOf(netconf.vlan)}`,
    why: 'the subnet is in two VLANs: old and new pods don’t reach each other, nor the node all of them',
    fix: `vi ${shellWord(file)}  # ${vlan > 0 ? `"vlan": ${vlan}` : 'without "vlan"'}, as long as they live`,
    isSafe: false,
  }))
})

const placeOf = (vlan: number) => (vlan > 0 ? `VLAN ${vlan}` : 'no VLAN')

function livingOf({ known }: NetworkFacts): readonly IndexEntry[] {
  return known.filter(({ isDead }) => !isDead).map(({ entry }) => entry)
}

function groupedBy<T>(
  pods: readonly IndexEntry[],
  keyOf: (pod: IndexEntry) => T,
): readonly (readonly [T, readonly IndexEntry[]])[] {
  return [...new Set(pods.map(keyOf))].map((key) => [key, pods.filter((pod) => keyOf(pod) === key)])
}
