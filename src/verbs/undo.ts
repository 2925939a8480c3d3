/** Takes an ADD back that failed. What can't be taken back is told on stderr, and stays in the index for DEL. */
import * as engine from '#engine'
import { Fault } from '../core/fault.ts'
import { formatCidr, formatIp, widthOf } from '../core/ip.ts'
import { line } from '../core/line.ts'
import { elementsOf, type Step } from '../core/plan.ts'
import type { Of } from '../core/resource.ts'
import { listIfThere } from '../host/files.ts'
import type { NodeRoute } from '../host/host-routes.ts'
import { listEntries, RUN_FOLDER } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { hasLink } from '../host/machine.ts'
import { openSession } from '../host/session.ts'
import { lockStore } from '../host/store.ts'
import { sweep } from '../host/sweep.ts'
import type { Call } from './call.ts'
import type { Claim } from './claim.ts'

/**
 * The steps in reverse, the failing one included: what belongs to the attachment, then a bridge that nobody uses.
 * @param isPartial the entry and the reservations stay, as what leads to more
 */
export async function undo(
  call: Call,
  { assigned, entry }: Claim,
  steps: readonly Step[],
  isPartial: boolean,
): Promise<void> {
  const elements = elementsOf(steps)
  const hasMadeVeth = steps.some(({ resource }) => resource.kind === 'veth')
  const victim = {
    attachment: entry,
    owner: call.owner,
    addresses: assigned.map(({ cidr }) => formatIp(cidr.ip)),
    links: hasMadeVeth && hasLink(call.hostVeth) ? [call.hostVeth] : [],
    elements,
    routes: routesMade(steps, entry.bridge),
    isPartial,
  }
  const failures = await sweep([victim], call, { also: await natUndo(steps, call) })
  for (const failure of failures) noteOf(failure)
  const added = steps.flatMap(({ resource, isNew }) => (isNew ? [resource] : []))
  const gateway = added.find((resource) => resource.kind === 'vlanGateway')
  const bridge = added.find((resource) => resource.kind === 'bridge')
  if (!gateway && !bridge) return
  // Who adds an attachment notes it under this lock before looking at the bridge.
  const folder = assigned.length > 0 ? call.storeFolder : call.indexFolder
  try {
    await lockStore(folder, false, () => removeUnused(entry.bridge, gateway, bridge !== undefined))
  } catch (error) {
    noteOf(error)
  }
}

/** Seconds to wait for the lock of iptables: the ADD may have failed for want of it. What is left, DEL removes. */
const UNDO_WAIT = 1

async function natUndo(steps: readonly Step[], { storeFolder }: Call): Promise<readonly (() => Promise<void>)[]> {
  const made = steps.flatMap(({ resource }) => (resource.kind === 'iptables' ? [resource] : []))
  const first = made[0]
  if (!first) return []
  const addresses = made.flatMap(({ pods }) => pods.map(formatCidr))
  return (await import('./nat.ts')).natRemovals(first.attachment, addresses, storeFolder, UNDO_WAIT)
}

export function routesMade(steps: readonly Step[], bridge: string): readonly NodeRoute[] {
  const made = steps.flatMap(({ resource }) => (resource.kind === 'hostRoute' ? [resource] : []))
  return made.map(({ address }) => ({ cidr: formatCidr({ ip: address, prefix: widthOf(address.family) }), bridge }))
}

export function noteOf(failure: unknown): void {
  const text = failure instanceof Fault ? `${failure.message}: ${failure.details}` : String(failure)
  engine.writeStderr(`pontoon: could not undo all of the failed ADD; DEL will: ${text}\n`)
}

/** Another ADD may have found the bridge by now: then it is noted. */
async function removeUnused(bridge: string, gateway: Of<'vlanGateway'> | undefined, isNew: boolean): Promise<void> {
  const users = listIfThere(RUN_FOLDER).flatMap((folder) => listEntries(`${RUN_FOLDER}/${folder}`))
  if (users.some((entry) => entry.bridge === bridge)) return
  const host = openSession()
  if (gateway && hasLink(gateway.name)) await host.run([line`link del dev ${gateway.name}`])
  const isThere = isNew && hasLink(bridge)
  const ports = isThere ? readLinks(await host.run([line`addr show master ${bridge}`])) : undefined
  if (ports?.size === 0) await host.run([line`link del dev ${bridge}`])
  await host.close()
}
