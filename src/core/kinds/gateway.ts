import { type Cidr, formatCidr, overlaps, parseCidr } from '../ip.ts'
import { line } from '../line.ts'
import { ABSENT, different, type Kind, type Observed, type Of, PRESENT } from '../resource.ts'

/** The gateway's address on the bridge. Addresses of other subnets beside it are nobody's business. */
export const gateway: Kind<Of<'gateway'>> = {
  scope: 'network',
  whenPresent: 'keep',
  name: (want) => `gateway ${formatCidr(want.cidr)} on ${want.bridge}`,
  inspect(want, seen) {
    const have = seen.host.get(want.bridge)?.addresses.map((address) => address.cidr) ?? []
    if (have.includes(formatCidr(want.cidr))) return PRESENT
    const inTheWay = obstacles(want, seen)
    return inTheWay.length === 0 ? ABSENT : different(formatCidr(want.cidr), inTheWay.join(', '))
  },
  create: (want) => [{ tool: 'ip', on: 'host', line: addressLine('add', want.cidr, want.bridge, false) }],
  remove: (want) => [{ tool: 'ip', on: 'host', line: line`addr del ${formatCidr(want.cidr)} dev ${want.bridge}` }],
  repair(want, seen) {
    if (!want.force) return []
    const clear = obstacles(want, seen).map((cidr) => line`addr del ${cidr} dev ${want.bridge}`)
    return [...clear.map((text) => ({ tool: 'ip', on: 'host', line: text }) as const), ...gateway.create(want)]
  },
}

function obstacles(want: Of<'gateway'>, seen: Observed): readonly string[] {
  const have = seen.host.get(want.bridge)?.addresses.map((address) => address.cidr) ?? []
  return have.filter((text) => {
    // Every device has an IPv6 address; an IPv4 gateway need not read it.
    const cidr = text.includes(':') === (want.cidr.ip.family === 6) ? parseCidr(text) : undefined
    return cidr !== undefined && overlaps(cidr, want.cidr)
  })
}

/** `addr add …`: with a broadcast address where IPv4 has one, and without duplicate address detection unless asked. */
export function addressLine(verb: 'add' | 'replace', cidr: Cidr, device: string, dad: boolean): string {
  const broadcast = cidr.ip.family === 4 && cidr.prefix < 31 ? ' brd +' : ''
  const nodad = cidr.ip.family === 6 && !dad ? ' nodad' : ''
  return line`addr ${verb} ${formatCidr(cidr)} dev ${device}` + broadcast + nodad
}
