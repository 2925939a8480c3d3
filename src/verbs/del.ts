/**
 * DEL: removes all that belongs to the attachment, with or without its namespace, a former result or an unchanged
 * configuration. The names say what is whose. Once more is no error.
 */
import * as engine from '#engine'
import type { Request } from '../cni/request.ts'
import { once } from '../cni/values.ts'
import { CODE, Fault } from '../core/fault.ts'
import { line } from '../core/line.ts'
import { readEntry } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { hasInetNat, hasLink, readAlias } from '../host/machine.ts'
import { startNft } from '../host/nft.ts'
import { openSession, type Session } from '../host/session.ts'
import { sweep, throwFailures } from '../host/sweep.ts'
import { lookUpTool } from '../host/tools.ts'
import { type Call, callOf, isMakerAlive } from './call.ts'
import type { Look } from './foreign.ts'
import { elementsNamed, isLabelOf, isOwnLink, routesTo, type Traced, trace, victimOf } from './victims.ts'

type Removal = () => Promise<void>

export async function del(request: Request): Promise<void> {
  const call = callOf(request)
  const traced = await traceSettled(call)
  const host = hasLink(call.hostVeth) ? openSession() : undefined
  const nft = (traced.entry?.elements.length ?? 0) > 0 ? startNft() : undefined
  const own = host && (await isOwn(call, host)) ? [call.hostVeth] : []
  const also: Removal[] = []
  const look = once(async () => (await import('../host/nft-tables.ts')).openTables())
  const known = await orLater(() => elements(traced, call, look), undefined, also)
  const foreign = await orLater(() => beyondIndex(traced, call, also, look), [], also)
  const victim = {
    ...victimOf(traced, [...new Set([...own, ...foreign])], known ?? traced.entry?.elements ?? []),
    routes: routesTo(traced, call.netconf),
    // The reservation leads to them the next time.
    isPartial: known === undefined,
  }
  throwFailures(await sweep([victim], call, { host, nft, also }), `DEL of container ${request.containerID}`)
}

/** By its name and its label, which can be read while `ip` starts. Where that says nothing, `ip` does. */
async function isOwn({ hostVeth, attachment }: Call, host: Session): Promise<boolean> {
  const alias = readAlias(hostVeth)
  if (alias !== undefined && isLabelOf(alias, attachment)) return true
  const links = readLinks(await host.run([line`addr show dev ${hostVeth}`]))
  return isOwnLink(links.get(hostVeth), attachment)
}

/** Milliseconds to wait for an ADD of the same attachment that is under way. */
const MAKER_WAIT = 25_000

/**
 * No runtime calls both at once (specification 1.1.0, "Section 2"). Where one does, the ADD comes to its end first:
 * what it makes after a DEL has looked would stay.
 * @throws Fault 11 naming the process
 */
async function waitForMaker(call: Call): Promise<void> {
  const end = engine.monotonic() + MAKER_WAIT
  for (let pause = 2; ; pause = Math.min(pause * 2, 50)) {
    const entry = readEntry(call.indexFolder, call.key)
    if (entry === undefined || entry === 'damaged' || !isMakerAlive(entry)) return
    if (engine.monotonic() > end) {
      const remedy = `process ${entry.pid} has not ended its ADD after ${MAKER_WAIT / 1000} s; try again later`
      throw new Fault(CODE.tryAgain, `container ${entry.containerID} is being added by another process`, remedy)
    }
    await engine.sleep(pause)
  }
}

/** What the index and the store tell, when no ADD is changing it. */
async function traceSettled(call: Call): Promise<Traced> {
  for (;;) {
    await waitForMaker(call)
    const traced = trace(call, call.attachment)
    if (!traced.entry || !isMakerAlive(traced.entry)) return traced
  }
}

/** What can't be found out is a failure of its own, and keeps nothing else from being removed. */
async function orLater<T>(look: () => Promise<T>, otherwise: T, also: Removal[]): Promise<T> {
  try {
    return await look()
  } catch (error) {
    also.push(() => Promise.reject(error))
    return otherwise
  }
}

/** What iptables has of it; and, where the index does not tell, what the reference made. The latter's host ends. */
async function beyondIndex(
  { entry, ...traced }: Traced,
  call: Call,
  also: Removal[],
  look: Look,
): Promise<readonly string[]> {
  if (entry?.done) {
    if (entry.masquerade !== 'iptables') return []
    also.push(...(await (await import('./nat.ts')).natRemovals(entry, entry.addresses, call.storeFolder)))
    return []
  }
  const { findLinks, removalsOf } = await import('./foreign.ts')
  also.push(...removalsOf(call, look))
  return findLinks(call, traced.addresses, look)
}

/** Where the index does not tell, the rules themselves are asked; without nft there are none. */
async function elements(traced: Traced, call: Call, look: Look): Promise<readonly string[]> {
  const known = traced.entry?.elements ?? []
  // An attachment without addresses is in no store that would tell of it.
  const isUncertain = traced.isUncertain || (!traced.entry && call.netconf.macspoofchk)
  if (!isUncertain || lookUpTool('nft') === undefined) return known
  const { readRules } = await import('../host/nft-tables.ts')
  const seen = await readRules(hasInetNat(), await look())
  return [...new Set([...known, ...elementsNamed(seen, call.attachment, traced.addresses)])]
}
