/**
 * Whether a link of the host is the other end of a container's, when its name says nothing: the reference draws the
 * names of host ends. Pure.
 */

import { parseLabel } from './attachment.ts'
import { withoutPrefix } from './ip.ts'
import type { SeenLink } from './resource.ts'

/** A veth that Pontoon did not make. */
export function isUnlabelledVeth(link: SeenLink): boolean {
  return link.type === 'veth' && parseLabel(link.alias) === undefined
}

/** Each is the other's end, as far as the indices tell. */
export function arePaired(host: SeenLink, inside: SeenLink | undefined): boolean {
  return inside?.type === 'veth' && inside.peer === host.index && host.peer === inside.index
}

/** Has the link inside one of these addresses? `bare` when it has none at all but its link-local one. */
export function holdsOneOf(inside: SeenLink, addresses: readonly string[]): boolean | 'bare' {
  const own = inside.addresses.map(({ cidr }) => withoutPrefix(cidr)).filter((text) => !text.startsWith('fe80:'))
  return own.length === 0 ? 'bare' : own.some((text) => addresses.includes(text))
}
