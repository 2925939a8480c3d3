/**
 * An attachment is one interface of one container on one network, and everything that is derived from that.
 *
 * Names and hardware addresses are computed, never drawn: whoever knows the three words knows what belongs to them,
 * also after a crash, and nothing has to be read back.
 */
import type { Ip } from './ip.ts'
import { sha256 } from './sha256.ts'

export interface Attachment {
  readonly network: string
  readonly containerID: string
  readonly ifname: string
  /** `namespace/name` of the Kubernetes pod, for people who look. */
  readonly pod?: string | undefined
}

/** 64 hexadecimal digits that stand for these words. */
export function digest(...words: readonly string[]): string {
  // Names are ASCII by their patterns; anything else would only make two digests equal that need not be.
  return sha256(words.join('\0'))
}

/** The last key: a verb asks for one attachment's over and over, and a digest is a quarter of a millisecond. */
let last = { words: '', key: '' }

/** The attachment's key in the index, in names and in labels. The pod is not part of it. */
export function keyOf({ network, containerID, ifname }: Attachment): string {
  const words = `${network}/${containerID}/${ifname}`
  if (last.words !== words) last = { words, key: digest(network, containerID, ifname) }
  return last.key
}

/** `veth` and 11 digits of the key: the longest name that the kernel takes, and one that network managers ignore. */
export function hostVethOf(key: string): string {
  return `veth${key.slice(0, 11)}`
}

const LABEL = 'pontoon:'
/** What the kernel keeps of an ifalias. */
export const LABEL_BYTES = 255

/** The ifalias of the host veth: `pontoon:network/container/ifname[/namespace/pod]`, at most 255 bytes. */
export function labelOf({ network, containerID, ifname, pod }: Attachment): string {
  return `${LABEL}${[network, containerID, ifname, ...(pod ? [pod] : [])].join('/')}`.slice(0, LABEL_BYTES)
}

/** The attachment that a label names, undefined when it is not one of Pontoon's. */
export function parseLabel(alias: string | undefined): Attachment | undefined {
  if (!alias?.startsWith(LABEL)) return undefined
  const [network, containerID, ifname, ...pod] = alias.slice(LABEL.length).split('/')
  if (!network || !containerID || !ifname) return undefined
  return { network, containerID, ifname, ...(pod.length === 2 ? { pod: pod.join('/') } : {}) }
}

/** A locally administered unicast hardware address of these ten hexadecimal digits. */
function macFrom(digits: string): string {
  return `02:${digits.slice(0, 10).replace(/..(?!$)/g, '$&:')}`
}

/** The bridge's own: the same for this machine and name, whatever happens to the bridge. */
export function bridgeMacOf(machineId: string, bridge: string): string {
  return macFrom(digest('bridge', machineId, bridge))
}

/** The host end's, from other digits of the key than its name. */
export function hostMacOf(key: string): string {
  return macFrom(key.slice(11))
}

/**
 * The sandbox end's: it stands for its first address, so that whoever gets an address again has the hardware address
 * that the neighbours remember. For IPv4 it can be read (0a:58 and the four bytes, as is usual with CNI plugins).
 */
export function sandboxMacOf(first: Ip | undefined, key: string): string {
  if (!first) return macFrom(key.slice(21))
  if (first.family === 6) return macFrom(digest('address', first.value.toString(16)))
  return `0a:58:${first.value
    .toString(16)
    .padStart(8, '0')
    .replace(/..(?!$)/g, '$&:')}`
}

/**
 * The comment on an nft element: digits of the attachment's key first, so that cutting at nft's 128 bytes keeps them,
 * then what people read.
 */
export function commentOf(attachment: Attachment): string {
  return `${keyOf(attachment).slice(0, COMMENT_KEY)}, ${readableOf(attachment)}`
}

/** What people read of an attachment's comment. Two attachments have the same only when it is as long as can be. */
export function readableOf({ network, containerID, ifname }: Attachment): string {
  return `net: ${network}, if: ${ifname}, id: ${containerID}`.slice(0, READABLE)
}

/** That part of a comment. */
export function readableIn(comment: string): string {
  return comment.slice(COMMENT_KEY + 2)
}

/** Is a comment this attachment's? Its words tell, without a digest, unless they may have been cut. */
export function isCommentOf(comment: string, attachment: Attachment): boolean {
  const words = readableOf(attachment)
  if (readableIn(comment) !== words) return false
  return words.length < READABLE || commentKey(comment) === keyOf(attachment).slice(0, COMMENT_KEY)
}

const COMMENT_KEY = 16
/** 128 bytes, less the digits and what stands behind them. */
const READABLE = 128 - COMMENT_KEY - 2

/** The network that a comment names; undefined when it is none of these, or was cut before the name's end. */
export function networkInComment(comment: string): string | undefined {
  return /^[0-9a-f]{16}, net: ([^,]+), /.exec(comment)?.[1]
}

/** What of a comment tells the attachment: two with the same key name the same one. */
export function commentKey(comment: string): string {
  return comment.slice(0, COMMENT_KEY)
}
