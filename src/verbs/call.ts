/** What all verbs derive from a request: the attachment, its names, and where its state is. */
import * as engine from '#engine'
import { isOwnIpam, type NetConf } from '../cni/netconf.ts'
import type { Request } from '../cni/request.ts'
import { type Attachment, hostVethOf, keyOf } from '../core/attachment.ts'
import { isDead } from '../core/liveness.ts'
import { statIfThere } from '../host/files.ts'
import { bootId, type IndexEntry, indexFolder } from '../host/index-files.ts'
import { hasLink } from '../host/machine.ts'
import { isSameNamespace } from '../host/sandbox.ts'
import { type Owner, storeFolder } from '../host/store.ts'

export interface Network {
  readonly netconf: NetConf
  readonly storeFolder: string
  readonly indexFolder: string
}

export interface Call extends Network {
  readonly request: Request
  readonly attachment: Attachment
  readonly key: string
  readonly owner: Owner
  readonly hostVeth: string
}

const NO_IPAM_DATA_DIR = '/var/lib/cni/networks'

export function networkOf(netconf: NetConf): Network {
  const dataDir = dataDirOf(netconf)
  return {
    netconf,
    storeFolder: storeFolder(dataDir, netconf.name),
    indexFolder: indexFolder(dataDir, netconf.name),
  }
}

export function dataDirOf({ ipam }: NetConf): string {
  return ipam?.dataDir ?? NO_IPAM_DATA_DIR
}

export function callOf(request: Request): Call {
  const { netconf, containerID, ifname, args } = request
  const pod = args.pod && podName(args.pod)
  const attachment = { network: netconf.name, containerID, ifname, pod }
  const key = keyOf(attachment)
  return {
    ...networkOf(netconf),
    request,
    attachment,
    key,
    owner: { containerID, ifname },
    hostVeth: hostVethOf(key),
  }
}

/** Are the network's addresses Pontoon's own to give? Not on layer 2 alone, nor where another IPAM plugin does it. */
export function hasOwnIpam({ ipam }: NetConf): boolean {
  return ipam !== undefined && isOwnIpam(ipam.type)
}

/** Does another IPAM plugin keep the network's addresses? */
export function isDelegated(netconf: NetConf): boolean {
  return netconf.ipam !== undefined && !hasOwnIpam(netconf)
}

/** `namespace/name` as a label can hold it; undefined for what is no Kubernetes name. */
function podName({ namespace, name }: { readonly namespace: string; readonly name: string }): string | undefined {
  return /^[\w.-]+$/.test(namespace) && /^[\w.-]+$/.test(name) ? `${namespace}/${name}` : undefined
}

/** Whether the container of an index entry is gone for good. */
export function isEntryDead(entry: IndexEntry): boolean {
  const traces = {
    boot: entry.boot,
    netnsLives: isSameNamespace(entry.netns, entry.device, entry.inode),
    hostVethLives: hasLink(entry.hostVeth),
    makerLives: isMakerAlive(entry),
  }
  return isDead(traces, bootId())
}

/** No ADD takes longer: after that the process ID is another's. In milliseconds. */
const LONGEST_ADD = 120_000

/** Is the process that began this ADD still at it? */
export function isMakerAlive(entry: IndexEntry): boolean {
  if (entry.done || entry.boot !== bootId() || entry.pid === engine.processId()) return false
  return Math.abs(engine.now() - entry.time) < LONGEST_ADD && statIfThere(`/proc/${entry.pid}`) !== undefined
}
