/** The last part of a removal: reservations, then index entries, of what is gone from the kernel. */
import { keyOf } from '../core/attachment.ts'
import { withoutPrefix } from '../core/ip.ts'
import { masqueradedBy } from '../core/kinds/masquerade.ts'
import { statIfThere } from './files.ts'
import { addressesUnder, isUnclaimed } from './held.ts'
import { removeEntry } from './index-files.ts'
import type { Strayed } from './restore.ts'
import { asFault, isEmpty, type LockedStore, lockStore, type Owner, readOwner, release, releaseAlien } from './store.ts'
import type { Ground, Victim } from './sweep.ts'

/** @param strayed gets what was deleted of those who had lost their address, or had begun anew, by then */
export async function free(
  victims: readonly Victim[],
  ground: Ground,
  alien: readonly string[],
  strayed: Strayed[],
): Promise<void> {
  const failures: unknown[] = []
  const forget = () => {
    for (const victim of victims) {
      if (isUnclaimed(victim, ground)) removeEntry(ground.indexFolder, keyOf(victim.attachment), victim.addresses)
    }
  }
  let isForgotten = false
  // A lock that a killed ADD left is nobody else's to remove, even when it had not come to a reservation.
  const isLocked = statIfThere(`${ground.storeFolder}/lock.lock`) !== undefined
  if (isLocked || alien.length > 0 || victims.some(({ addresses }) => addresses.length > 0)) {
    await lockStore(ground.storeFolder, false, (store) => {
      const tryOut = (work: () => void) => {
        try {
          work()
        } catch (error) {
          failures.push(asFault(error, ground.storeFolder))
        }
      }
      for (const victim of victims) {
        const lost = new Set<string>()
        const isSame = isUnclaimed(victim, ground)
        for (const address of addressesUnder(victim)) {
          const isReleased = () => victim.addresses.includes(address) && releaseOwn(store, address, victim.owner)
          tryOut(() => (isSame && isReleased()) || lost.add(address))
        }
        if (lost.size > 0) strayed.push(...strayedOf(victim, lost))
      }
      // An ADD may have taken one since it was looked at.
      for (const address of alien) tryOut(() => !readOwner(store.folder, address) && releaseAlien(store, address))
      if (failures.length === 0) forget()
      isForgotten = true
    })
  }
  const first = failures[0]
  if (first) throw first
  // Where there are no addresses, the index is what is locked.
  if (statIfThere(`${ground.indexFolder}/lock.lock`)) await lockStore(ground.indexFolder, false, () => {})
  if (!isForgotten) forget()
}

/** An empty file at a victim's address is one that it had made, but not written, when it was killed. */
function releaseOwn(store: LockedStore, address: string, owner: Owner): boolean {
  return release(store, address, owner) || (isEmpty(store.folder, address) && releaseAlien(store, address))
}

/** What was deleted at these addresses; where none of them is the victim's any more, what is no address's, too. */
function strayedOf(
  { attachment, addresses, elements, routes = [] }: Victim,
  lost: ReadonlySet<string>,
): readonly Strayed[] {
  const isAll = addresses.length > 0 && addresses.every((address) => lost.has(address))
  const stray = {
    attachment,
    elements: elements.filter((element) => {
      const address = masqueradedBy(element)
      return address === undefined ? isAll : lost.has(address)
    }),
    routes: routes.filter(({ cidr }) => lost.has(withoutPrefix(cidr))),
  }
  return stray.elements.length + stray.routes.length > 0 ? [stray] : []
}
