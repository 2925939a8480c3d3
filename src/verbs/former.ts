/**
 * What a former ADD of the same attachment left: its host end, and rules and routes that may be of other addresses
 * than this ADD's. What another attachment has by now stays; and an address is nobody else's before all is gone that
 * stands on it.
 */
import { formatIp } from '../core/ip.ts'
import { line } from '../core/line.ts'
import { addressesUnder } from '../host/held.ts'
import { removeNote } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { hasInetNat, hasLink } from '../host/machine.ts'
import { readRules } from '../host/nft-tables.ts'
import { openSession, type Session } from '../host/session.ts'
import { lockStore, release } from '../host/store.ts'
import { sweep, throwFailures } from '../host/sweep.ts'
import { lookUpTool } from '../host/tools.ts'
import type { Call } from './call.ts'
import { type Claim, nameOf } from './claim.ts'
import { removalsOf } from './foreign.ts'
import { elementsNamed, isOwnLink, routesTo, withoutPrefix } from './victims.ts'

/**
 * @param byIptables whether this ADD masquerades by iptables
 * @throws Fault for what could not be removed: it stays noted, for DEL
 */
export async function clearFormer(call: Call, claim: Claim, byIptables: boolean): Promise<void> {
  const { former, assigned } = claim
  if (!former) return
  const { attachment, owner, indexFolder, storeFolder } = call
  // Not the one that makes the new pair: `ip` remembers which index a name had, also when that link is gone.
  const host = hasLink(call.hostVeth) ? openSession() : undefined
  const addressesLeft = former.addresses.map(withoutPrefix)
  const left = {
    attachment,
    owner,
    addresses: addressesLeft,
    links: host ? await ownLinks(call, host) : [],
    elements: [...new Set([...former.elements, ...(await elementsLeft(call))])],
    routes: routesTo({ entry: former, addresses: addressesLeft }, call.netconf),
    // This ADD's entry is not the former's to remove, nor is what both of them have.
    isPartial: true,
  }
  const kept = new Set(assigned.map(({ cidr }) => formatIp(cidr.ip)))
  const addresses = [...addressesUnder(left)].filter((address) => !kept.has(address))
  const also = byIptables || former.masquerade === 'iptables' ? removalsOf(call) : []
  throwFailures(await sweep([{ ...left, addresses }], call, { host, also }), `a former ${nameOf(call)}`)
  if (addresses.length === 0) return
  await lockStore(storeFolder, false, (store) => {
    for (const address of addresses) release(store, address, owner)
  })
  for (const address of addresses) removeNote(indexFolder, address, call.key)
}

async function ownLinks({ attachment, hostVeth }: Call, host: Session): Promise<readonly string[]> {
  const seen = readLinks(await host.run([line`addr show dev ${hostVeth}`]))
  return isOwnLink(seen.get(hostVeth), attachment) ? [hostVeth] : []
}

async function elementsLeft({ attachment }: Call): Promise<readonly string[]> {
  return lookUpTool('nft') === undefined ? [] : elementsNamed(await readRules(hasInetNat()), attachment)
}
