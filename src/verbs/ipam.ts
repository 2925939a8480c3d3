/** The role host-local: addresses for an interface plugin that Pontoon is not. Only the store, no link, no rule. */

import type { Request } from '../cni/request.ts'
import { parseResult, renderResult } from '../cni/result.ts'
import { holds } from '../core/allocate.ts'
import { CODE, Fault } from '../core/fault.ts'
import { formatCidr, formatIp, parseIp } from '../core/ip.ts'
import { resolveRoutes } from '../core/routes.ts'
import { bootId } from '../host/index-files.ts'
import { isOwner, type LockedStore, lockStore, noteBoot, readLeases, release, reserve } from '../host/store.ts'
import { throwFailures } from '../host/sweep.ts'
import { type Call, callOf, networkOf } from './call.ts'
import { livingHolderIn, nameOf, parseWish } from './claim.ts'
import { readDns } from './dns.ts'
import { type Before, orReclaim } from './or-reclaim.ts'
import { withoutPrefix } from './victims.ts'

/** @returns the result document of ADD, '' for the other verbs */
export async function ipam(request: Request): Promise<string> {
  if (request.verb === 'ADD') return add(request)
  if (request.verb === 'DEL') await del(request)
  if (request.verb === 'CHECK') check(request)
  if (request.verb === 'GC') await gc(request)
  if (request.verb === 'STATUS') await (await import('./status.ts')).ipamStatus(request)
  return ''
}

async function add(request: Request): Promise<string> {
  const call = callOf(request)
  const { netconf } = call
  requireIpam(call)
  const wish = parseWish(netconf, request.args.ips)
  const routes = netconf.ipam?.routes ?? []
  resolveRoutes(routes, [], request.ifname)
  const dns = readDns({ ...netconf, dns: undefined })
  const take = (store: LockedStore, { isFirst }: Before) => {
    if (readLeases(call.storeFolder).some(({ owner }) => isOwner(owner, call.owner))) {
      throw new Fault(CODE.conflict, `${nameOf(call)} has an address already`, 'call DEL first')
    }
    const reserved = reserve(store, wish.sets, wish.asked, call.owner, {
      livingHolder: livingHolderIn(call.indexFolder),
    })
    // A new store has none: the next ADD would take what this one reserved for another boot's, were the clock set.
    if (isFirst) noteBoot(store, bootId())
    return reserved
  }
  const taken = await orReclaim(
    call,
    (before) => lockStore(call.storeFolder, true, (store) => take(store, before)),
    'none',
  )
  const ips = (taken ?? []).map(({ ip, range }) => ({
    address: formatCidr({ ip, prefix: range.subnet.prefix }),
    ...(range.gateway ? { gateway: formatIp(range.gateway) } : {}),
  }))
  return renderResult({ interfaces: [], ips, routes, dns }, netconf.cniVersion, { wholeRoutes: true })
}

function requireIpam({ netconf }: Call): void {
  if (netconf.ipam) return
  throw new Fault(CODE.invalidConfig, `network "${netconf.name}" has no ipam section`, 'host-local needs "ipam"')
}

async function del(request: Request): Promise<void> {
  const call = callOf(request)
  await lockStore(call.storeFolder, false, (store) => {
    for (const { address, owner } of readLeases(call.storeFolder)) {
      if (isOwner(owner, call.owner)) release(store, address, call.owner)
    }
  })
}

function check(request: Request): void {
  const call = callOf(request)
  const mine = readLeases(call.storeFolder).flatMap(({ address, owner }) => (isOwner(owner, call.owner) ? address : []))
  const want = formerAddresses(call)
  const missing = want.filter((address) => !mine.includes(address))
  if (mine.length > 0 && missing.length === 0) return
  const found = `want ${want.join(', ') || 'an address'}, have ${mine.join(', ') || 'none'} in ${call.storeFolder}`
  throw new Fault(
    CODE.drift,
    `${nameOf(call)} has no reservation${missing.length > 0 ? ` of ${missing.join(', ')}` : ''}`,
    found,
  )
}

/** The addresses of the former result that are of these ranges: others are another plugin's. */
function formerAddresses({ netconf }: Call): readonly string[] {
  const ranges = parseWish(
    { ...netconf, args: NO_WISH, runtimeConfig: { ...netconf.runtimeConfig, ips: [] } },
    [],
  ).sets.flat()
  return parseResult(netconf.prevResult ?? {}).ips.flatMap(({ address }) => {
    const ip = parseIp(withoutPrefix(address))
    return ip && ranges.some((range) => holds(range, ip)) ? [formatIp(ip)] : []
  })
}

const NO_WISH = { ips: [] }

async function gc({ netconf }: Request): Promise<void> {
  const valid = netconf.validAttachments
  if (netconf.disableGC || !valid) return
  const network = networkOf(netconf)
  const failures: unknown[] = []
  await lockStore(network.storeFolder, false, (store) => {
    for (const { address, owner } of readLeases(network.storeFolder)) {
      if (!owner || valid.some((attachment) => isOwner(owner, attachment))) continue
      try {
        release(store, address, owner)
      } catch (error) {
        failures.push(error)
      }
    }
  })
  throwFailures(failures, `GC of network "${netconf.name}"`)
}
