import { type Cidr, formatCidr, overlaps, parseCidr } from '../ip.ts'
import { line } from '../line.ts'
import { ABSENT, different, type Kind, type Observed, type Of, PRESENT } from '../resource.ts'

/** The gateway's address on the bridge. Addresses of other subnets beside it are nobody's business. */
export const gateway: Kind<Of<'gateway'>> = {
  scope: 'network',
  whenPresent: 'keep',
  name: (want) => `gateway ${formatCidr(want.cidr)} on ${want.bridge}`,
  inspect(want, seen) {
    const isThere = addressesOn(want, seen).includes(formatCidr(want.cidr))
    const others = [...formerOn(want, seen), ...(isThere ? [] : obstacles(want, seen))]
    if (others.length > 0) return different(formatCidr(want.cidr), others.join(', '))
    return isThere ? PRESENT : ABSENT
  },
  create: (want) => [{ tool: 'ip', on: 'host', line: addressLine('add', want.cidr, want.bridge, false) }],
  remove: (want) => [{ tool: 'ip', on: 'host', line: line`addr del ${formatCidr(want.cidr)} dev ${want.bridge}` }],
  repair(want, seen) {
    const inTheWay = obstacles(want, seen)
    if (inTheWay.length > 0 && !want.force) return []
    const isThere = addressesOn(want, seen).includes(formatCidr(want.cidr))
    const clear = [...formerOn(want, seen), ...(isThere ? [] : inTheWay)]
    return [
      ...clear.map((cidr) => ({ tool: 'ip', on: 'host', line: line`addr del ${cidr} dev ${want.bridge}` }) as const),
      ...(isThere ? [] : gateway.create(want)),
    ]
  },
}

function addressesOn(want: Of<'gateway'>, seen: Observed): readonly string[] {
  return seen.host.get(want.bridge)?.addresses.map((address) => address.cidr) ?? []
}

function formerOn(want: Of<'gateway'>, seen: Observed): readonly string[] {
  return want.former ? addressesOn(want, seen).filter((cidr) => want.former?.includes(cidr)) : []
}

/** Addresses of overlapping subnets. A host can have both, but not know which of them to answer with. */
function obstacles(want: Of<'gateway'>, seen: Observed): readonly string[] {
  return addressesOn(want, seen).filter((text) => {
    if (text === formatCidr(want.cidr) || want.former?.includes(text)) return false
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
