/**
 * STATUS: could an ADD be served now, and are the pods that are there well? Waits for nothing, and leaves nothing: it
 * is called every few seconds.
 */
import * as engine from '#engine'
import type { NetConf } from '../cni/netconf.ts'
import type { Request } from '../cni/request.ts'
import { capacity, holds, isExcluded } from '../core/allocate.ts'
import { CODE, Fault } from '../core/fault.ts'
import { parseIp, withoutPrefix } from '../core/ip.ts'
import { gateway } from '../core/kinds/gateway.ts'
import { line } from '../core/line.ts'
import { describeRange, type RangeSet } from '../core/ranges.ts'
import type { SeenLink } from '../core/resource.ts'
import { gatewayDeviceOf, needsVlanFiltering } from '../core/vlans.ts'
import { isFileError } from '../engine/engine.ts'
import { readIfThere, statIfThere } from '../host/files.ts'
import { listEntries, RUN_FOLDER } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { hasLink } from '../host/machine.ts'
import { probeFolder } from '../host/probe.ts'
import { openSession } from '../host/session.ts'
import { asFault, listAddresses, readOwner } from '../host/store.ts'
import { findTool, type Tool } from '../host/tools.ts'
import { withBackend } from './backend.ts'
import { hasOwnIpam, isEntryDead, type Network, networkOf } from './call.ts'
import { parseWish } from './claim.ts'
import type { Sight } from './forgotten.ts'
import { requireHealth } from './health.ts'
import { loopbackFault } from './loopback.ts'
import { obstructedGateways } from './obstructed.ts'
import { toolsOf, vlanObstacle } from './vlans.ts'

const NO_SETS: { readonly sets: readonly RangeSet[] } = { sets: [] }

export async function status(request: Request): Promise<void> {
  const { netconf } = withBackend(request)
  const network = networkOf(netconf)
  const isOwn = hasOwnIpam(netconf)
  const { sets } = isOwn ? parseWish({ ...netconf, runtimeConfig: { ...netconf.runtimeConfig, ips: [] } }, []) : NO_SETS
  requireTools(toolsOf(netconf))
  requireRights()
  if (isOwn) requireWritable(network.storeFolder)
  requireRoom(isOwn ? [network.storeFolder, ...indexFolders(network)] : indexFolders(network))
  for (const set of sets) await requireFree(set, network, 'bridge')
  const obstacle = loopbackFault(netconf)
  if (obstacle) throw notAvailable(obstacle.message, obstacle.details)
  const bridges = await readBridges(netconf)
  const bridge = bridges.get(netconf.bridge)
  if (bridge && bridge.type !== 'bridge') {
    const remedy = `found a ${bridge.type || 'device'} of that name: remove it, or give the network another bridge`
    throw notAvailable(`${netconf.bridge} is not a bridge`, remedy)
  }
  const lack = vlanObstacle(netconf, bridges)
  if (lack) throw notAvailable(lack.message, lack.remedy)
  requireHealth(network, bridges, sets)
  const [obstructed] = await obstructedGateways(network, sets, bridges)
  if (obstructed) {
    const { resource, reason } = obstructed
    const remedy = `${reason}; remove that address, or set forceAddress to replace it`
    throw notAvailable(`another address is in the way of the ${gateway.name(resource)}`, remedy)
  }
}

/** The role host-local: the store and its addresses alone. */
export async function ipamStatus({ netconf }: Request): Promise<void> {
  const network = networkOf(netconf)
  const { sets } = parseWish({ ...netconf, runtimeConfig: { ...netconf.runtimeConfig, ips: [] } }, [])
  requireWritable(network.storeFolder)
  requireRoom([network.storeFolder])
  for (const set of sets) await requireFree(set, network, 'none')
}

function notAvailable(message: string, remedy: string): Fault {
  return new Fault(CODE.notAvailable, message, remedy)
}

function requireTools(tools: readonly Tool[]): void {
  for (const tool of tools) {
    try {
      findTool(tool)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      throw notAvailable(error.message, error.details)
    }
  }
}

/** Bits of CapEff in proc(5): CAP_NET_ADMIN makes links, CAP_SYS_ADMIN enters namespaces (capabilities(7)). */
const NET_ADMIN = 1n << 12n
const SYS_ADMIN = 1n << 21n

function requireRights(): void {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(readIfThere('/proc/self/status') ?? '')?.[1] ?? 'ffffffffffffffff'
  const has = BigInt(`0x${effective}`)
  if ((has & NET_ADMIN) !== 0n && (has & SYS_ADMIN) !== 0n) return
  throw notAvailable('the plugin lacks rights', 'it needs CAP_NET_ADMIN and CAP_SYS_ADMIN: run it as root')
}

/** The folder itself, or, where it is still to be made, the one that it will be made in. */
function requireWritable(folder: string): void {
  for (let path = folder; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) {
    try {
      if (engine.stat(path).kind !== 'directory') {
        throw notAvailable(
          `the store ${folder} can't be used`,
          `${path} is not a folder: remove it, or set ipam.dataDir`,
        )
      }
      if (engine.canWrite(path)) return
      throw notAvailable(`the store ${folder} is not writable`, `mount ${path} for writing, or set ipam.dataDir`)
    } catch (error) {
      if (!isFileError(error, 'ENOENT', 'ENOTDIR')) throw error
    }
  }
}

/** The folder of the network's entries; while it is still to be made, the one that it will be in. */
function indexFolders({ indexFolder }: Network): readonly string[] {
  return [statIfThere(indexFolder) ? indexFolder : RUN_FOLDER]
}

/** A folder that is still to be made is not tried: STATUS makes none, and leaves others' folders alone. */
function requireRoom(folders: readonly string[]): void {
  for (const folder of folders) {
    if (statIfThere(folder)?.kind !== 'directory') continue
    try {
      probeFolder(folder)
    } catch (error) {
      const fault = asFault(error, folder)
      throw fault instanceof Fault ? notAvailable(`no file can be written in ${folder}`, fault.details) : fault
    }
  }
}

/** A set is exhausted when all of its addresses are reserved, and the next ADD can't reclaim one of them. */
async function requireFree(set: RangeSet, network: Network, sight: Sight): Promise<void> {
  const { storeFolder, indexFolder } = network
  const taken = listAddresses(storeFolder).filter((name) => {
    const ip = parseIp(name)
    return ip !== undefined && set.some((range) => holds(range, ip) && !isExcluded(range, ip))
  })
  if (BigInt(taken.length) < capacity(set)) return
  const entries = listEntries(indexFolder)
  if (entries.some(isEntryDead)) return
  const known = new Set(entries.flatMap((entry) => entry.addresses.map(withoutPrefix)))
  const isGone = await (await import('./forgotten.ts')).forgetting(network, sight)
  const unknown = taken.filter((address) => !known.has(address))
  if (unknown.some((address) => isGone({ address, owner: readOwner(storeFolder, address) }))) return
  const ranges = set.map(describeRange).join(', ')
  throw notAvailable(`no free address in ${ranges}`, `all ${taken.length} are reserved in ${storeFolder}`)
}

/** The bridge and what has the gateway's addresses. For VLANs any bridge will do, to tell what the kernel can. */
async function readBridges(netconf: NetConf): Promise<ReadonlyMap<string, SeenLink>> {
  const session = openSession()
  const names = [...new Set([netconf.bridge, gatewayDeviceOf(netconf)])].filter(hasLink)
  const every = needsVlanFiltering(netconf) && names.length === 0 ? ['addr show type bridge'] : []
  try {
    // Every namespace has a lo: who does not know it is not ip.
    const lines = ['addr show dev lo', ...names.map((name) => line`addr show dev ${name}`), ...every]
    return readLinks(await session.run(lines))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    throw notAvailable('the tool ip does not work', `${error.details}; install iproute2`)
  } finally {
    await session.close()
  }
}
