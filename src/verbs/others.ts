/** Whether what an attachment had is somebody else's by now. */
import { readHolderOf } from '../host/index-files.ts'
import { isOwner, type Owner, readOwner } from '../host/store.ts'
import { isEntryDead, type Network } from './call.ts'

/**
 * Is an address that this owner had given to another one since, as after a removal that was killed between freeing the
 * address and removing the entry? Then the elements and routes of the address serve that one, and stay.
 * @param address without prefix length
 */
export function isOthers(
  { storeFolder, indexFolder }: Pick<Network, 'storeFolder' | 'indexFolder'>,
  address: string,
  owner: Owner,
): boolean {
  const reserved = readOwner(storeFolder, address)
  if (reserved && !isOwner(reserved, owner)) return true
  const noted = readHolderOf(indexFolder, address)
  return noted !== undefined && !isOwner(noted, owner) && !isEntryDead(noted)
}
