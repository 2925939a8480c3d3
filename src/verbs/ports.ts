/** Who can be seen to live on a network's bridge. */
import { type Attachment, hostVethOf, keyOf, LABEL_BYTES, parseLabel } from '../core/attachment.ts'
import { line } from '../core/line.ts'
import type { SeenLink } from '../core/resource.ts'
import { readLinks } from '../host/ip-json.ts'
import { hasLink } from '../host/machine.ts'
import { openSession } from '../host/session.ts'
import type { Network } from './call.ts'

export interface Ports {
  /** Is there no port but of those in `named`? */
  readonly isQuiet: boolean
  /** The attachments that the ports' labels name: they live, whatever the index has of them. */
  readonly named: readonly Attachment[]
}

/**
 * Asks the bridge for its ports. A pod has one; where every port is Pontoon's, nobody lives but whom their labels name.
 * It is asked before the store is locked, since a program takes longer than all else that is done under the lock. A pod
 * that comes between loses nothing: Pontoon has noted it in the index, which is read under the lock; another plugin's
 * reservation is younger than the boot.
 * @throws Fault 104 or 11 when `ip` is missing or does not answer
 */
export async function readPorts({ netconf: { bridge } }: Network): Promise<Ports> {
  if (!hasLink(bridge)) return { isQuiet: true, named: [] }
  const session = openSession()
  const ports = readLinks(await session.run([line`addr show master ${bridge}`]))
  await session.close()
  return portsOf([...ports.values()])
}

/** What these ports of a bridge tell. Pure. */
export function portsOf(links: readonly SeenLink[]): Ports {
  // Whose other end is here too, as a VLAN gateway's, is no pod's.
  const ofPods = links.filter(({ type, peerName }) => type === 'veth' && peerName === undefined)
  const named = ofPods.flatMap((link) => namedBy(link) ?? [])
  return { isQuiet: named.length === ofPods.length, named }
}

/** A label that was cut names somebody else, unless all that is needed was before the cut. */
function namedBy({ name, alias = '' }: SeenLink): Attachment | undefined {
  const attachment = parseLabel(alias)
  const isWhole = alias.length < LABEL_BYTES
  return attachment && (isWhole || hostVethOf(keyOf(attachment)) === name) ? attachment : undefined
}
