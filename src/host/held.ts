/**
 * Keeps a removal from what is another attachment's by now: an address may have been lost, and given out again, since
 * the index noted who has it.
 */
import * as engine from '#engine'
import { keyOf } from '../core/attachment.ts'
import { withoutPrefix } from '../core/ip.ts'
import { masqueradedBy } from '../core/kinds/masquerade.ts'
import { statIfThere } from './files.ts'
import { listEntries, makerOf, readEntry, readHolderOf } from './index-files.ts'
import { isOwner, type LockedStore, lockStore, type Owner, ownerText, pathOf, readOwner } from './store.ts'
import type { Ground, Victim } from './sweep.ts'

/** Has no ADD of the same attachment begun, or gone on, since the victim was looked at? */
export function isUnclaimed({ attachment, maker }: Victim, { indexFolder }: Ground): boolean {
  return maker === undefined || makerOf(readEntry(indexFolder, keyOf(attachment))) === maker
}

/** Is there an address on which something of the victim stands, and that may be another's by now? */
export function isDoubtful(victim: Victim, { storeFolder, indexFolder }: Ground): boolean {
  return [...addressesUnder(victim)].some((address) => {
    if (!isOwner(readOwner(storeFolder, address), victim.owner)) return true
    const noted = readHolderOf(indexFolder, address)
    return noted !== undefined && !isOwner(noted, victim.owner)
  })
}

/** Its addresses, and those that its rules and routes are of. */
export function addressesUnder({
  addresses,
  elements,
  routes = [],
}: Pick<Victim, 'addresses' | 'elements' | 'routes'>): ReadonlySet<string> {
  const masqueraded = elements.flatMap((element) => masqueradedBy(element) ?? [])
  return new Set([...addresses, ...masqueraded, ...routes.map(({ cidr }) => withoutPrefix(cidr))])
}

/**
 * The doubtful victims without the elements and routes of addresses that somebody else has, in the store or by the
 * index. An address that nobody has is reserved for its victim again, so that nobody is given it until it is swept.
 *
 * @param going all victims: what two of them have is nobody else's
 * @throws Fault 11 when the store's lock is not to be had, 5 for I/O errors
 */
export async function withoutHeld(
  doubtful: readonly Victim[],
  going: readonly Victim[],
  ground: Ground,
): Promise<readonly Victim[]> {
  const isGoing = ownerSet(going)
  const decide = (store: LockedStore | undefined) => {
    const noted = store ? indexedHolders(ground.indexFolder, isGoing) : undefined
    const isHeld = (address: string) => {
      const owner = readOwner(ground.storeFolder, address)
      if (owner && !isGoing(owner)) return true
      // Without a store another plugin keeps the addresses, or all reservations are lost: only the note is looked at.
      const holder = noted ? noted.get(address) : readHolderOf(ground.indexFolder, address)
      return holder !== undefined && !isGoing(holder)
    }
    return doubtful.map((victim) => {
      const free = [...addressesUnder(victim)].filter((address) => !isHeld(address))
      const own = store ? free.filter((address) => putBack(store, address, victim.owner)) : []
      return { ...lessHeld(victim, isHeld), addresses: [...new Set([...victim.addresses, ...own])] }
    })
  }
  return (await lockStore(ground.storeFolder, false, decide)) ?? decide(undefined)
}

/** The victim without what stands on these addresses. They stay in its list: only its own reservations are freed. */
export function lessHeld(victim: Victim, isHeld: (address: string) => boolean): Victim {
  const { elements, routes = [] } = victim
  return {
    ...victim,
    elements: elements.filter((element) => !isHeld(masqueradedBy(element) ?? '')),
    routes: routes.filter(({ cidr }) => !isHeld(withoutPrefix(cidr))),
  }
}

function ownerSet(victims: readonly Victim[]): (owner: Owner) => boolean {
  const keys = new Set(victims.map(({ owner }) => `${owner.containerID}\n${owner.ifname}`))
  const ids = new Set(victims.map(({ owner }) => owner.containerID))
  // A file of the oldest format names the container alone.
  return ({ containerID, ifname }) => (ifname === '' ? ids.has(containerID) : keys.has(`${containerID}\n${ifname}`))
}

/** Whom the index has for each address, of those that stay. An ADD under way has its reservation, or no address yet. */
function indexedHolders(indexFolder: string, isGoing: (owner: Owner) => boolean): ReadonlyMap<string, Owner> {
  const staying = listEntries(indexFolder).filter((entry) => entry.done && !isGoing(entry))
  return new Map(staying.flatMap((entry) => entry.addresses.map((cidr) => [withoutPrefix(cidr), entry] as const)))
}

/** True when it was done. */
function putBack({ folder }: LockedStore, address: string, owner: Owner): boolean {
  const path = pathOf(folder, address)
  if (owner.containerID === '' || statIfThere(path)) return false
  try {
    engine.createFile(path, ownerText(owner), 0o600)
    return true
  } catch {
    return false // on a full disk nobody else can reserve it either
  }
}
