/**
 * The names by which the reference `bridge` finds its own again: chains of iptables, comments of nft rules, chains of
 * the hardware address filter. Pontoon removes by them what the reference made, and uses those of iptables itself, so
 * that either plugin removes what the other made.
 *
 * SHA-512 is only asked for here: import this module where it is needed, never at the start of the plugin.
 */
import { sha512 } from '@noble/hashes/sha2.js'
import type { Attachment } from './attachment.ts'

/** 24 digits behind `CNI-`: iptables takes 28 characters. One chain for all interfaces of a container on a network. */
export function chainOf({ network, containerID }: Pick<Attachment, 'network' | 'containerID'>): string {
  return `CNI-${sha512Digits(network + containerID, 24)}`
}

/** All nft rules of a network have this in front of their comments. */
export function networkHash(network: string): string {
  return `${sha512Digits(network, 16)}-`
}

/** The front of the comment on each nft rule of one attachment. */
export function ruleHash({ network, containerID, ifname }: Attachment): string {
  return networkHash(network) + sha512Digits(`${ifname}:${containerID}`, 16)
}

/** The chains of the hardware address filter, in the order in which they can be deleted. */
export function spoofChains({ containerID, ifname }: Attachment): readonly [string, string] {
  return [`cni-br-iface-${containerID}-${ifname}`, `cni-br-iface-${containerID}-${ifname}-mac`]
}

/** The comment on each rule of that filter. */
export function spoofComment({ containerID, ifname }: Attachment): string {
  return `macspoofchk-${containerID}-${ifname}`
}

function sha512Digits(text: string, count: number): string {
  const bytes = sha512(Uint8Array.from(text, (character) => character.charCodeAt(0)))
  return Array.from(bytes.subarray(0, count / 2), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
