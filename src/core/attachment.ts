/**
 * An attachment is one interface of one container on one network, and everything that is derived from that.
 *
 * Names and hardware addresses are computed, never drawn: whoever knows the three words knows what belongs to them,
 * also after a crash, and nothing has to be read back.
 */
import { sha256 } from '@noble/hashes/sha2.js'

export interface Attachment {
  readonly network: string
  readonly containerID: string
  readonly ifname: string
  /** `namespace/name` of the Kubernetes pod, for people who look. */
  readonly pod?: string | undefined
}

/** 64 hexadecimal digits that stand for these words. */
export function digest(...words: readonly string[]): string {
  const text = words.join('\0')
  const bytes = new Uint8Array(text.length)
  // Names are ASCII by their patterns; anything else would only make two digests equal that need not be.
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return Array.from(sha256(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The attachment's key in the index, in names and in labels. The pod is not part of it. */
export function keyOf(attachment: Attachment): string {
  return digest(attachment.network, attachment.containerID, attachment.ifname)
}

/** `veth` and 11 digits of the key: the longest name that the kernel takes, and one that network managers ignore. */
export function hostVethOf(key: string): string {
  return `veth${key.slice(0, 11)}`
}

const LABEL = 'pontoon:'

/** The ifalias of the host veth: `pontoon:network/container/ifname[/namespace/pod]`, at most 255 bytes. */
export function labelOf({ network, containerID, ifname, pod }: Attachment): string {
  return `${LABEL}${[network, containerID, ifname, ...(pod ? [pod] : [])].join('/')}`.slice(0, 255)
}

/** The attachment that a label names, undefined when it is not one of Pontoon's. */
export function parseLabel(alias: string | undefined): Attachment | undefined {
  if (!alias?.startsWith(LABEL)) return undefined
  const [network, containerID, ifname, ...pod] = alias.slice(LABEL.length).split('/')
  if (!network || !containerID || !ifname) return undefined
  return { network, containerID, ifname, ...(pod.length === 2 ? { pod: pod.join('/') } : {}) }
}

/** A locally administered unicast hardware address that stands for these words. */
export function macOf(...words: readonly string[]): string {
  const hex = digest('mac', ...words)
  return ['02', 0, 2, 4, 6, 8].map((at) => (typeof at === 'string' ? at : hex.slice(at, at + 2))).join(':')
}

/**
 * The comment on an nft element: digits of network and attachment first, so that cutting at nft's 128 bytes keeps
 * them, then what people read.
 */
export function commentOf(attachment: Attachment): string {
  const { network, containerID, ifname } = attachment
  const keys = `${networkKey(network)}-${keyOf(attachment).slice(0, 16)}`
  return `${keys}, net: ${network}, if: ${ifname}, id: ${containerID}`.slice(0, 128)
}

/** 16 digits that stand for a network in labels. */
export function networkKey(network: string): string {
  return digest('network', network).slice(0, 16)
}
