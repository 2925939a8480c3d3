import { formatCidr } from '../ip.ts'
import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'
import { addressLine } from './gateway.ts'

export const address: Kind<Of<'address'>> = {
  scope: 'attachment',
  whenPresent: 'refuse',
  name: (want) => `address ${formatCidr(want.cidr)} on ${want.ifname}`,
  inspect(want, seen) {
    const have = seen.sandbox.get(want.ifname)?.addresses ?? []
    const found = have.find((candidate) => candidate.cidr === formatCidr(want.cidr))
    if (!found) return ABSENT
    return found.failed ? different('a unique address', 'a duplicate on the link (dadfailed)') : PRESENT
  },
  create: (want) => [{ tool: 'ip', on: 'sandbox', line: addressLine('add', want.cidr, want.ifname, want.dad) }],
  remove: () => [], // it goes with the veth
}
