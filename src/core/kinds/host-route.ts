import { formatIp, type Ip, widthOf } from '../ip.ts'
import { line } from '../line.ts'
import { ABSENT, type Kind, type Of, PRESENT } from '../resource.ts'

/** Who made a route, as the kernel notes it: by this number Pontoon's are told from all others (rtnetlink(7)). */
export const PROTOCOL = 122

/** The node's way to a pod whose subnet is the pod alone: the gateway's address on the bridge brings none. */
export const hostRoute: Kind<Of<'hostRoute'>> = {
  scope: 'attachment',
  // A former pod of this address may have left it.
  whenPresent: 'keep',
  name: (want) => `route of the node to ${formatIp(want.address)} on ${want.device}`,
  inspect: (want, seen) => (seen.hostRoutes.has(`${formatIp(want.address)} ${want.device}`) ? PRESENT : ABSENT),
  create: ({ address, device }) => [{ tool: 'ip', on: 'host', line: routeAddition(cidrOf(address), device) }],
  remove: ({ address, device }) => [{ tool: 'ip', on: 'host', line: routeDeletion(cidrOf(address), device) }],
}

function cidrOf(address: Ip): string {
  return `${formatIp(address)}/${widthOf(address.family)}`
}

/** @param cidr of full length */
export function routeAddition(cidr: string, device: string): string {
  return line`route replace ${cidr} dev ${device} proto ${PROTOCOL}`
}

/** @param cidr of full length. The line fails where there is no such route of Pontoon's. */
export function routeDeletion(cidr: string, device: string): string {
  return line`route del ${cidr} dev ${device} proto ${PROTOCOL}`
}

/** Is the subnet of this address, with its prefix length, the address alone? */
export function isAlone(cidr: string): boolean {
  return cidr.endsWith(cidr.includes(':') ? '/128' : '/32')
}
