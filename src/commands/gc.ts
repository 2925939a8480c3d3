/** `pontoon gc`: what belongs to containers that are gone. Lists it; removes it when asked to. */
import * as engine from '#engine'
import { isObject } from '../cni/conform.ts'
import type { AttachmentId } from '../cni/netconf.ts'
import { CODE, Fault } from '../core/fault.ts'
import { loadIpv6 } from '../core/ip.ts'
import { isFileError } from '../engine/engine.ts'
import { type Lease, readLeases } from '../host/leases.ts'
import { sweep, type Victim } from '../host/sweep.ts'
import { forgetting } from '../verbs/forgotten.ts'
import { findGarbage } from '../verbs/garbage.ts'
import { reclaim } from '../verbs/reclaim.ts'
import { gcText } from './gc/report.ts'
import { compareAddresses } from './leases/rows.ts'
import { listConfFiles, NO_BRIDGE, type NodeNetwork, readConfFiles, selectNetworks, strayNetworks } from './networks.ts'
import { paintHere, print, printJson, readInput } from './output.ts'
import { endProgress, tellProgress } from './progress.ts'

export type GcFlags = {
  readonly confDir: string
  readonly apply?: boolean
  readonly valid?: string
  readonly json?: boolean
}

export interface GarbageOf {
  readonly network: string
  readonly items: readonly GarbageItem[]
  readonly failures: readonly string[]
  /** No pod is to stay: what they have in common goes, too. */
  readonly isOver: boolean
}

export interface GarbageItem {
  readonly containerID: string
  readonly ifname: string
  readonly addresses: readonly string[]
  readonly links: readonly string[]
  readonly rules: readonly string[]
}

export async function run(flags: GcFlags, network?: string): Promise<number> {
  await loadIpv6()
  const valid = flags.valid === undefined ? undefined : parseValid(readValid(flags.valid))
  const known = readConfFiles(listConfFiles(flags.confDir)).flatMap(({ networks }) => networks)
  const chosen = network === undefined ? known : selectNetworks([...known, ...strayNetworks(known)], network)
  if (chosen.some(({ netconf }) => netconf.bridge === NO_BRIDGE)) {
    const remedy =
      'there is no configuration of it, and the index does not know its bridge either: who lives can’t be told'
    throw new Fault(CODE.invalidConfig, `network "${network}" can't be looked at`, remedy)
  }
  if (valid && chosen.length > 1) {
    const remedy = 'a list of valid attachments is one network’s: name the network'
    throw new Fault(CODE.invalidConfig, '--valid without a network', remedy)
  }
  const found: GarbageOf[] = []
  for (const one of chosen) found.push(await collect(one, valid, flags.apply ?? false))
  if (flags.json) printJson({ version: 1, applied: flags.apply ?? false, networks: found })
  else print(gcText(found, flags.apply ?? false, paintHere()))
  return found.some(({ failures }) => failures.length > 0) ? 1 : 0
}

function readValid(path: string): string {
  try {
    return path === '-' ? readInput('the list of valid attachments', 1 << 24) : engine.readFile(path)
  } catch (error) {
    if (!isFileError(error)) throw error
    throw new Fault(CODE.io, `can't read ${path}`, `${error.code}; --valid takes a file, or - for stdin`)
  }
}

/** `[{"containerID": "…", "ifname": "eth0"}, …]`. A list that is not understood must not pass for an empty one. */
export function parseValid(text: string): readonly AttachmentId[] {
  const refuse = (found: string): never => {
    const remedy = `expected a JSON list of {"containerID": "…", "ifname": "…"}; found ${found}`
    throw new Fault(CODE.decode, 'the list of valid attachments is not understood', remedy)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
  if (!Array.isArray(value)) return refuse(typeof value)
  return value.map((item: unknown) => {
    if (!isObject(item)) return refuse(JSON.stringify(item))
    const { containerID, ifname } = item
    if (typeof containerID !== 'string' || typeof ifname !== 'string') return refuse(JSON.stringify(item))
    return { containerID, ifname }
  })
}

async function collect(
  network: NodeNetwork,
  valid: readonly AttachmentId[] | undefined,
  isApplied: boolean,
): Promise<GarbageOf> {
  const bounded = { ...network, netconf: { ...network.netconf, validAttachments: valid } }
  const { victims, also, forgotten } = await look(bounded, isApplied)
  const failures: unknown[] = []
  const isOver = valid?.length === 0
  if (isApplied) {
    failures.push(...(await sweepAll(victims, bounded, also)))
    try {
      if (forgotten.length > 0) await reclaim(network)
    } catch (error) {
      failures.push(error)
    }
    if (isOver && failures.length === 0) {
      failures.push(...(await (await import('../verbs/gc-network.ts')).clearNetwork(bounded)))
    }
  }
  return { network: network.name, items: itemsOf(victims, forgotten), failures: failures.map(textOf), isOver }
}

/** So many at a time: as fast as all at once, and one sees how far it has come. */
const SOME = 200

async function sweepAll(
  victims: readonly Victim[],
  network: NodeNetwork,
  also: readonly (() => Promise<void>)[],
): Promise<readonly unknown[]> {
  const failures: unknown[] = []
  for (let i = 0; i === 0 || i < victims.length; i += SOME) {
    tellProgress(`${network.name}: ${i} of ${victims.length} attachments are removed`)
    failures.push(...(await sweep(victims.slice(i, i + SOME), network, i === 0 ? { also } : {})))
  }
  endProgress()
  return failures
}

async function look(network: NodeNetwork, isApplied = false) {
  const { victims, also, problem } = await findGarbage(network)
  // Who only lists would list too little.
  if (problem !== undefined && !isApplied) throw problem
  const taken = new Set(victims.flatMap(({ addresses }) => addresses))
  const isBounded = network.netconf.validAttachments !== undefined
  const forgotten = isBounded ? [] : (await findForgotten(network)).filter(({ address }) => !taken.has(address))
  return { victims, also, forgotten }
}

/** What `gc NETWORK` lists. */
export async function findGarbageItems(network: NodeNetwork): Promise<readonly GarbageItem[]> {
  const { victims, forgotten } = await look(network)
  return itemsOf(victims, forgotten)
}

function itemsOf(victims: readonly Victim[], forgotten: readonly Lease[]): readonly GarbageItem[] {
  const items = [
    ...victims.map(itemOf),
    ...forgotten.map(({ address, owner }) => {
      const { containerID = '', ifname = '' } = owner ?? {}
      return { containerID, ifname, addresses: [address], links: [], rules: [] }
    }),
  ]
  return items.sort((a, b) => compareAddresses(a.addresses[0] ?? '', b.addresses[0] ?? ''))
}

/** Reservations that the index does not know, and that nobody can live by. */
async function findForgotten(network: NodeNetwork) {
  const { viewOf } = await import('./view.ts')
  const known = new Set(viewOf(network).rows.flatMap(({ address, state }) => (state === 'unknown' ? [] : [address])))
  const isGone = await forgetting(network, 'bridge')
  return readLeases(network.storeFolder).filter((lease) => !known.has(lease.address) && isGone(lease))
}

function itemOf({ owner, addresses, links, elements }: Victim): GarbageItem {
  return { containerID: owner.containerID, ifname: owner.ifname, addresses, links, rules: elements }
}

function textOf(error: unknown): string {
  if (error instanceof Fault) return `${error.message}: ${error.details}`
  return error instanceof Error ? error.message : String(error)
}
