/**
 * What the attachments of a network have in common, removed when there is none any more: its sets and rules, the table
 * when nothing else is in it, its place in a VLAN, and the bridge, where Pontoon made it and nothing is plugged in.
 */

import { TABLE } from '../core/kinds/masquerade.ts'
import { untracked } from '../core/kinds/untracked.ts'
import { line } from '../core/line.ts'
import type { SeenLink } from '../core/resource.ts'
import { gatewayDeviceOf, gatewayPortOf } from '../core/vlans.ts'
import { listIfThere, removeIfThere, statIfThere } from '../host/files.ts'
import { listEntries, listEntriesElsewhere } from '../host/index-files.ts'
import { readLinks } from '../host/ip-json.ts'
import { bridgeMac, hasInetNat, hasLink } from '../host/machine.ts'
import { nftFault, readTable, runNft } from '../host/nft.ts'
import type { NftObject } from '../host/nft-json.ts'
import { openSession, type Session } from '../host/session.ts'
import { listAddresses, lockStore, readOwner } from '../host/store.ts'
import { lookUpTool } from '../host/tools.ts'
import { hasOwnIpam, type Network } from './call.ts'
import { isSetOf } from './victims.ts'

/**
 * Under the network's lock: who adds an attachment notes it there before anything is made.
 * @returns what could not be done
 */
export async function clearNetwork(network: Network): Promise<readonly unknown[]> {
  const folder = hasOwnIpam(network.netconf) ? network.storeFolder : network.indexFolder
  const work = async () => (isUsed(network) ? [] : [...(await clearRules(network)), ...(await clearLinks(network))])
  try {
    return statIfThere(folder) ? ((await lockStore(folder, false, work)) ?? []) : await work()
  } catch (error) {
    return [error]
  }
}

function isUsed({ indexFolder, storeFolder }: Network): boolean {
  const isLeased = () => listAddresses(storeFolder).some((address) => readOwner(storeFolder, address) !== undefined)
  return listEntries(indexFolder).length > 0 || isLeased()
}

async function clearRules({ netconf }: Network): Promise<readonly unknown[]> {
  if (lookUpTool('nft') === undefined) return []
  const failures: unknown[] = []
  for (const family of hasInetNat() ? ['inet'] : ['ip', 'ip6']) {
    const scripts = removalOf(family, await readTable(family, TABLE), netconf.name)
    let failure: Awaited<ReturnType<typeof runNft>>
    for (const script of scripts) {
      failure = await runNft(script)
      if (!failure) break
    }
    if (failure && failure.code !== 'ENOENT') failures.push(nftFault(failure))
  }
  return failures
}

/**
 * Scripts of which one is enough; the first that succeeds. Another network that sets itself up meanwhile writes the
 * chain `postrouting` anew: then the handles are gone that the first script begins with, and it fails as a whole.
 */
export function removalOf(
  family: string,
  objects: readonly NftObject[],
  network: string,
): readonly (readonly string[])[] {
  const table = `${family} ${TABLE}`
  const all = objects.flatMap(({ set }) => (set ? [set] : []))
  const rules = objects.flatMap(({ rule }) => (rule ? [rule] : []))
  const sets = all.filter(({ name, elem = [] }) => isSetOf(name, network) && elem.length === 0)
  if (sets.length === 0) return []
  const names = new Set(sets.map(({ name }) => `@${name}`))
  const own = rules.filter(({ expr }) => expr.some(({ match }) => names.has(String(match?.right))))
  const deletion = ({ chain, handle }: (typeof rules)[number]) => `delete rule ${table} ${chain} handle ${handle}`
  const partly = [...own.map(deletion), ...sets.map(({ name }) => `delete set ${table} ${name}`)]
  const hooks = rules.filter(({ chain }) => chain === 'postrouting')
  const chains = objects.flatMap(({ chain }) => (chain ? [chain.name] : []))
  const isAlone =
    sets.length === all.length &&
    own.length + hooks.length === rules.length &&
    hooks.length > 0 &&
    chains.every((name) => name === 'postrouting' || name === 'masq_checks') &&
    objects.every((object) => ['metainfo', 'table', 'chain', 'set', 'rule'].includes(Object.keys(object)[0] ?? ''))
  return isAlone ? [[...hooks.map(deletion), `delete table ${table}`], partly] : [partly]
}

/** A bridge that another network's attachments may be about to use stays. */
async function clearLinks(network: Network): Promise<readonly unknown[]> {
  const { bridge } = network.netconf
  if (!hasLink(bridge) || isUsedByOthers(network)) return []
  const session = openSession()
  try {
    await removeLinks(network, session)
  } finally {
    await session.close()
  }
  return []
}

async function removeLinks({ netconf, indexFolder }: Network, session: Session): Promise<void> {
  const { bridge, vlan } = netconf
  const links = readLinks(await session.run([line`addr show dev ${bridge}`, line`addr show master ${bridge}`]))
  const ports = [...links.values()].filter(({ name }) => name !== bridge)
  if (!isMadeByPontoon(links.get(bridge), 'bridge') || hasUpper(bridge)) return
  const isGatewayPort = ({ name, peerName = '' }: SeenLink) =>
    peerName.startsWith(`${bridge}.`) && name === gatewayPortOf(peerName)
  if (!ports.every(isGatewayPort)) return
  const device = vlan > 0 ? gatewayDeviceOf({ bridge, vlan }) : undefined
  const own = ports.filter(({ peerName }) => peerName !== undefined && peerName === device)
  for (const { peerName = '' } of own) await removeGateway(bridge, peerName, session)
  if (ports.length > own.length) return
  await session.run([line`link del dev ${bridge}`])
  removeIfThere(`${indexFolder}/gateways`)
}

/** The network's place in its VLAN, and the element that has what is bridged to it untracked. */
async function removeGateway(bridge: string, gateway: string, session: Session): Promise<void> {
  const mac = readLinks(await session.run([line`addr show dev ${gateway}`])).get(gateway)?.mac
  await session.run([line`link del dev ${gateway}`])
  if (!mac || lookUpTool('nft') === undefined) return
  // Where nothing masquerades there is no such set.
  for (const op of untracked.remove({ kind: 'untracked', bridge, gateway, mac })) {
    const failure = op.tool === 'nft' ? await runNft(op.lines) : undefined
    if (failure && failure.code !== 'ENOENT') throw nftFault(failure)
  }
}

/** Its hardware address is the one that Pontoon gives, and gave. */
function isMadeByPontoon(link: SeenLink | undefined, type: string): boolean {
  return link?.type === type && link.mac === bridgeMac(link.name)
}

/** Has somebody put a device on top of it? */
function hasUpper(name: string): boolean {
  return listIfThere(`/sys/class/net/${name}`).some((entry) => entry.startsWith('upper_'))
}

function isUsedByOthers({ indexFolder, netconf }: Network): boolean {
  return listEntriesElsewhere(indexFolder).some((entry) => entry.bridge === netconf.bridge)
}
