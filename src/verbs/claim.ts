/**
 * Makes an attachment this ADD's own: finds out what a former ADD of the same one left, writes the intent into the
 * index, and reserves the addresses. All under the store's lock, so that of two ADDs one is first.
 */
import * as engine from '#engine'
import type { NetConf } from '../cni/netconf.ts'
import { type Candidate, holds, matchRequested } from '../core/allocate.ts'
import { CODE, Fault } from '../core/fault.ts'
import { formatCidr, formatIp, type Ip, parseCidr, parseIp } from '../core/ip.ts'
import { parseRangeSets, type RangeSet } from '../core/ranges.ts'
import type { Assigned } from '../core/routes.ts'
import { statIfThere } from '../host/files.ts'
import {
  bootId,
  type IndexEntry,
  readEntry,
  readHolderOf,
  removeEntry,
  removeNote,
  writeEntry,
} from '../host/index-files.ts'
import { hasLink } from '../host/machine.ts'
import { isSameNamespace, type Sandbox } from '../host/sandbox.ts'
import {
  isOwner,
  type LivingHolder,
  type LockedStore,
  lockStore,
  noteBoot,
  readLeases,
  readOwner,
  release,
  releaseAlien,
  reserve,
} from '../host/store.ts'
import { type Call, dataDirOf, isEntryDead, isMakerAlive } from './call.ts'
import { type Before, orReclaim } from './or-reclaim.ts'
import { emptied, withoutPrefix } from './victims.ts'

export interface Wish {
  readonly sets: readonly RangeSet[]
  readonly asked: readonly (Candidate | undefined)[]
}

export interface Claim {
  readonly entry: IndexEntry
  readonly assigned: readonly Assigned[]
  /** The entry of a former ADD of this attachment, of which something may be there still; its addresses are reserved. */
  readonly former: IndexEntry | undefined
}

/**
 * What the configuration and the caller want of host-local.
 * @throws Fault 7 for a range or an address that can't be, 4 for one in CNI_ARGS
 */
export function parseWish(netconf: NetConf, fromArgs: readonly string[]): Wish {
  if (!netconf.ipam) return { sets: [], asked: [] }
  const sets = parseRangeSets([...netconf.runtimeConfig.ipRanges, ...netconf.ipam.ranges])
  if (sets.length === 0) {
    const remedy = 'ipam needs "ranges", or a "subnet"'
    throw new Fault(CODE.invalidConfig, `network "${netconf.name}" has no address range`, remedy)
  }
  const asked = [
    ...fromArgs.map((text) => parseAsked(text, CODE.invalidEnvironment, 'CNI_ARGS')),
    ...netconf.args.ips.map((text) => parseAsked(text, CODE.invalidConfig, 'args.cni.ips')),
    ...netconf.runtimeConfig.ips.map((text) => parseAsked(text, CODE.invalidConfig, 'runtimeConfig.ips')),
  ]
  return { sets, asked: matchRequested(sets, asked) }
}

/** An address that was asked for; a prefix length behind it says nothing that the range does not. */
function parseAsked(text: string, code: number, where: string): Ip {
  const ip = parseIp(text) ?? parseCidr(text)?.ip
  if (ip) return ip
  throw new Fault(code, `${where} asks for an invalid address`, `expected an IP address; found "${text}"`)
}

/**
 * @throws Fault 101 when the attachment is in use, 100 when there is no free address, 11 when the lock is not to be
 *   had
 */
export async function claim(call: Call, wish: Wish, sandbox: Sandbox, bridge: string): Promise<Claim> {
  const work = (before: Before) => tryClaim(call, wish, sandbox, bridge, before)
  return wish.sets.length > 0 ? orReclaim(call, work) : work({ isFirst: false, own: undefined })
}

async function tryClaim(
  call: Call,
  wish: Wish,
  sandbox: Sandbox,
  bridge: string,
  { isFirst, own }: Before,
): Promise<Claim> {
  // Without own addresses there is no store to lock; the index does to keep two ADDs of one attachment apart.
  const folder = wish.sets.length > 0 ? call.storeFolder : call.indexFolder
  const claimed = await lockStore(folder, true, (store) => {
    const isFresh = wish.sets.length > 0 && (isFirst || !statIfThere(call.indexFolder))
    if (isFirst) noteBoot(store, bootId())
    const found = readFormer(call, sandbox)
    for (const address of found ? emptied(found, call.storeFolder) : []) releaseAlien(store, address)
    const former = found && { ...found, addresses: formerAddresses(found, call) }
    // Where there is no index, or another boot's, the store alone tells what a former ADD had.
    const left = former ? former.addresses.map(withoutPrefix) : isFresh ? (own ?? ownLeases(call)) : []
    const intent = newEntry(call, sandbox, bridge, former)
    let noted: string | undefined
    const noteIntent = (addresses: readonly string[]) => {
      writeEntry(call.indexFolder, { ...intent, addresses })
      noted = addresses.join()
    }
    // Where nothing is there yet, it is noted with the first address, before that is reserved.
    if (former || left.length > 0 || wish.sets.length === 0) noteIntent(intent.addresses)
    try {
      const asked = withFormer(wish, left, call, store)
      const intended = [...intent.addresses]
      const taken = reserve(store, wish.sets, asked, call.owner, {
        livingHolder: livingHolderIn(call.indexFolder),
        intend({ ip, range }) {
          intended.push(formatCidr({ ip, prefix: range.subnet.prefix }))
          noteIntent(intended)
        },
      })
      // Those of a former ADD are given back when what stands on them is gone.
      for (const address of former ? [] : left) {
        if (taken.some(({ ip }) => formatIp(ip) === address)) continue
        release(store, address, call.owner)
        removeNote(call.indexFolder, address, call.key)
      }
      const assigned = taken.map(({ ip, range }) => ({
        cidr: { ip, prefix: range.subnet.prefix },
        gateway: range.gateway,
      }))
      const entry = { ...intent, addresses: assigned.map(({ cidr }) => formatCidr(cidr)) }
      // What was taken over, too, is in the index before the lock is let go: whoever has it next frees what is unknown.
      if (noted !== entry.addresses.join()) noteIntent(entry.addresses)
      return { entry, assigned, former }
    } catch (error) {
      if (!former) removeEntry(call.indexFolder, call.key)
      throw error
    }
  })
  return claimed as Claim // the folder is made, so the work was done
}

/** Whoever the index knows to use an address, and is not dead. One that has lost its host end uses none. */
export function livingHolderIn(indexFolder: string): LivingHolder {
  return (address) => {
    const entry = readHolderOf(indexFolder, address)
    const isCutOff = entry?.done && entry.hostVeth !== '' && !hasLink(entry.hostVeth)
    return entry && !isCutOff && !isEntryDead(entry) ? entry : undefined
  }
}

/** The entry of a former ADD that may be taken over, undefined when there was none. */
export function readFormer(call: Call, sandbox: Sandbox): IndexEntry | undefined {
  const former = readEntry(call.indexFolder, call.key)
  if (former === undefined || former === 'damaged') return undefined
  if (isMakerAlive(former)) {
    const remedy = `process ${former.pid} is adding it since ${new Date(former.time).toISOString()}; try again later`
    throw new Fault(CODE.tryAgain, `${nameOf(call)} is being added by another process`, remedy)
  }
  if (!hasLink(former.hostVeth) || !former.done) return former
  if (isSameNamespace(former.netns, former.device, former.inode)) {
    const isHere = former.device === sandbox.device && former.inode === sandbox.inode
    const where = isHere ? 'this network namespace has it already' : `the network namespace ${former.netns} holds it`
    throw new Fault(CODE.conflict, `${nameOf(call)} exists already`, `${where}; call DEL first`)
  }
  return former
}

/** Those of the entry; of one that was not finished, those in the store: it may not have come to note them. */
export function formerAddresses(former: IndexEntry, call: Call): readonly string[] {
  return former.done ? former.addresses : ownLeases(call)
}

function ownLeases(call: Call): readonly string[] {
  return readLeases(call.storeFolder).flatMap(({ address, owner }) => (isOwner(owner, call.owner) ? [address] : []))
}

export function nameOf(call: Call): string {
  const { containerID, ifname, network } = call.attachment
  return `interface ${ifname} of container ${containerID} on network "${network}"`
}

function newEntry(call: Call, sandbox: Sandbox, bridge: string, former: IndexEntry | undefined): IndexEntry {
  return {
    version: 1,
    ...call.attachment,
    dataDir: dataDirOf(call.netconf),
    done: false,
    pid: engine.processId(),
    addresses: former?.addresses ?? [],
    elements: [],
    netns: sandbox.path,
    device: sandbox.device,
    inode: sandbox.inode,
    hostVeth: call.hostVeth,
    bridge,
    vlan: call.netconf.vlan,
    masquerade: call.netconf.ipMasq ? (call.netconf.ipMasqBackend ?? 'nftables') : 'none',
    boot: bootId(),
    time: engine.now(),
  }
}

/** Gives back the addresses of a former ADD, where they are still reserved and still in the ranges. */
export function withFormer(
  { sets, asked }: Wish,
  left: readonly string[],
  call: Call,
  store: Pick<LockedStore, 'folder'>,
): readonly (Candidate | undefined)[] {
  const kept = left
    .map(parseIp)
    .filter((ip) => ip !== undefined)
    .filter((ip) => isOwner(readOwner(store.folder, formatIp(ip)), call.owner))
  return sets.map((set, i) => {
    const wanted = asked[i]
    if (wanted) return wanted
    for (const ip of kept) {
      const range = set.find((candidate) => holds(candidate, ip))
      if (range) return { ip, range }
    }
    return undefined
  })
}
