/**
 * Which gateway addresses a network has put on its bridge. When the configuration comes with another subnet, as after
 * a node has joined its cluster anew, the old address goes as soon as no pod lives by it: left there, it would draw
 * the traffic for what may be another node's subnet by now.
 */
import { type Cidr, contains, formatCidr, loadIpv6, mentionsIpv6, parseCidr } from '../core/ip.ts'
import { isAlone } from '../core/kinds/host-route.ts'
import type { Step } from '../core/plan.ts'
import type { Resource } from '../core/resource.ts'
import { isFileError } from '../engine/engine.ts'
import { readIfThere, replaceFile } from '../host/files.ts'
import { listEntries, listEntriesElsewhere } from '../host/index-files.ts'
import { isEntryDead, type Network } from './call.ts'

const notePath = ({ indexFolder }: Network) => `${indexFolder}/gateways`

/** `cni0 10.9.0.1/24` for each that was put there. */
function readNotes(network: Network): readonly string[] {
  return (readIfThere(notePath(network)) ?? '').split('\n').filter((text) => text !== '')
}

/** Those that it has put on this device, and not taken off since. */
export function notedGateways(network: Network, device: string): readonly Cidr[] {
  return readNotes(network).flatMap((text) => {
    const [bridge, gateway = ''] = text.split(' ')
    return bridge === device ? (parseCidr(gateway) ?? []) : []
  })
}

/** The desired gateways, each told which addresses of former configurations are to go for it. */
export async function withFormerGateways(network: Network, desired: readonly Resource[]): Promise<readonly Resource[]> {
  const notes = readNotes(network)
  const wanted = desired.flatMap((resource) =>
    resource.kind === 'gateway' ? [`${resource.bridge} ${formatCidr(resource.cidr)}`] : [],
  )
  const old = notes.filter((text) => !wanted.includes(text))
  if (wanted.length === 0 || old.length === 0) return desired
  if (old.some(mentionsIpv6)) await loadIpv6()
  const unused = old.filter((text) => !isLivedBy(network, text.split(' ')[1] ?? ''))
  return desired.map((resource) => {
    if (resource.kind !== 'gateway') return resource
    const former = unused.flatMap((text) => (text.startsWith(`${resource.bridge} `) ? [text.split(' ')[1] ?? ''] : []))
    return { ...resource, former }
  })
}

/** A gateway that is a subnet of its own is that of all pods that are one, of its family: nothing tells of which. */
function isLivedBy(network: Network, gateway: string): boolean {
  const subnet = parseCidr(gateway)
  const isOfAlone = isAlone(gateway)
  const beside = listEntriesElsewhere(network.indexFolder).filter(({ bridge }) => bridge === network.netconf.bridge)
  return [...listEntries(network.indexFolder), ...beside].some(
    (entry) =>
      !isEntryDead(entry) &&
      entry.addresses.some((text) => {
        const cidr = parseCidr(text)
        if (!subnet || !cidr) return false
        return isOfAlone ? isAlone(text) && cidr.ip.family === subnet.ip.family : contains(subnet, cidr.ip)
      }),
  )
}

/** Notes the gateways among the steps that were taken. */
export function noteGateways(network: Network, taken: readonly Step[]): void {
  const made = taken.flatMap(({ resource }) => (resource.kind === 'gateway' ? [resource] : []))
  if (made.length === 0) return
  const gone = new Set(made.flatMap(({ bridge, former = [] }) => former.map((text) => `${bridge} ${text}`)))
  const notes = [...readNotes(network), ...made.map(({ bridge, cidr }) => `${bridge} ${formatCidr(cidr)}`)]
  const left = [...new Set(notes)].filter((text) => !gone.has(text))
  writeNotes(notePath(network), `${left.join('\n')}\n`)
}

/** Two first ADDs note at the same time: one gets in the other's way, and notes again. */
function writeNotes(path: string, text: string): void {
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      replaceFile(path, text, 0o600)
      return
    } catch (error) {
      if (!isFileError(error, 'ENOENT', 'EEXIST')) throw error
    }
  }
}
