/** The verbs besides ADD for a network whose addresses another IPAM plugin keeps: it is asked each time too. */
import type { Request } from '../cni/request.ts'
import { CODE, Fault } from '../core/fault.ts'
import { masqueradedBy } from '../core/kinds/masquerade.ts'
import { line } from '../core/line.ts'
import { runDelegate } from '../host/delegate.ts'
import { readEntry, removeNote, writeEntry } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { hasLink } from '../host/machine.ts'
import { openSandbox } from '../host/sandbox.ts'
import { openSession } from '../host/session.ts'
import { sweep, throwFailures } from '../host/sweep.ts'
import { delegationOf } from './add-delegated.ts'
import { type Call, callOf } from './call.ts'
import { isOwnLink, routesOf, withoutPrefix } from './victims.ts'

/**
 * Runs the plugin's verb and the own work, and reports what failed of either. For DEL the plugin comes first, while
 * the interface is there: dhcp gives its lease back through it. CHECK looks at the interface first.
 */
export async function runDelegated(request: Request, own: () => Promise<void>): Promise<void> {
  const call = callOf(request)
  const failures: unknown[] = []
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      failures.push(error)
    }
  }
  const plugin = () => asStatus(request, () => runDelegate(delegationOf(call), request.verb))
  if (request.verb === 'DEL') {
    await attempt(() => flush(call))
    await attempt(() => strip(call))
  }
  if (request.verb === 'CHECK') await attempt(own)
  await attempt(plugin)
  if (request.verb !== 'CHECK') await attempt(own)
  throwFailures(failures, `${request.verb} of network "${request.netconf.name}"`)
}

/** A plugin that is missing or broken: no ADD can be served, which STATUS has a code for. */
async function asStatus<T>({ verb }: Request, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isBroken = error instanceof Fault && (error.code === CODE.delegate || error.code === CODE.tryAgain)
    if (verb !== 'STATUS' || !isBroken) throw error
    throw new Fault(CODE.notAvailable, error.message, error.details, { cause: error })
  }
}

/** Takes the addresses off before they are given back, as they may be another's at once. Only from what is ours. */
async function flush({ request, attachment, hostVeth }: Call): Promise<void> {
  const sandbox = request.netns === '' || !hasLink(hostVeth) ? undefined : openSandbox(request.netns)
  if (!sandbox) return
  const sessions = [openSession(), openSession(sandbox.handle)] as const
  try {
    const [outside, inside] = await Promise.all([
      sessions[0].run([line`addr show dev ${hostVeth}`]),
      sessions[1].run([line`addr show dev ${attachment.ifname}`]),
    ])
    const host = readLinks(outside).get(hostVeth)
    const own = readLinks(inside).get(attachment.ifname)
    if (isOwnLink(host, attachment) && own !== undefined && own.index === host?.peer) {
      await sessions[1].run([line`addr flush dev ${attachment.ifname} scope global`])
    }
  } finally {
    await Promise.all(sessions.map((session) => session.close()))
    sandbox.close()
  }
}

/**
 * Removes what stands on the addresses before they are given back: whoever is given one next may have it at once, and
 * makes the same anew. Where the index does not tell, the own work finds it, later.
 */
async function strip(call: Call): Promise<void> {
  const entry = readEntry(call.indexFolder, call.key)
  if (entry === undefined || entry === 'damaged' || !entry.done || entry.addresses.length === 0) return
  const isOnAddress = (element: string) => masqueradedBy(element) !== undefined
  const also =
    entry.masquerade === 'iptables'
      ? await (await import('./nat.ts')).natRemovals(entry, entry.addresses, call.storeFolder)
      : []
  const what = { attachment: entry, owner: call.owner, addresses: [], links: [], isPartial: true }
  const elements = entry.elements.filter(isOnAddress)
  const failures = await sweep([{ ...what, elements, routes: routesOf(entry) }], call, { also })
  throwFailures(failures, 'its rules')
  for (const cidr of entry.addresses) removeNote(call.indexFolder, withoutPrefix(cidr), call.key)
  writeEntry(call.indexFolder, {
    ...entry,
    addresses: [],
    elements: entry.elements.filter((element) => !isOnAddress(element)),
  })
}
