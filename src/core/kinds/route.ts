import { formatCidr, formatIp } from '../ip.ts'
import { line } from '../line.ts'
import { ABSENT, different, type Kind, type Observed, type Of, PRESENT, type SeenRoute } from '../resource.ts'

const MAIN = 254

/** A route in the sandbox, with all of the attributes that version 1.1.0 of the specification knows. */
export const route: Kind<Of<'route'>> = {
  scope: 'attachment',
  whenPresent: 'refuse',
  name: (want) => `route ${formatCidr(want.dst)}${want.table ? ` in table ${want.table}` : ''}`,
  inspect(want, seen) {
    const found = candidatesFor(want, seen)
    if (found.length === 0) return ABSENT
    const expected = attributes(want)
    const differing = found.map((have) => differences(expected, have)).sort((a, b) => a.length - b.length)[0] ?? []
    if (differing.length === 0) return PRESENT
    return different(differing.map((d) => d.want).join(' '), differing.map((d) => d.have).join(' '))
  },
  create(want) {
    const words = [
      // `append`, as a container may have a route of the same destination through another interface.
      line`route append ${formatCidr(want.dst)}`,
      want.via ? line`via ${formatIp(want.via)}` : '',
      line`dev ${want.ifname}`,
      want.onlink ? 'onlink' : '',
      want.priority ? line`metric ${want.priority}` : '',
      want.table ? line`table ${want.table}` : '',
      want.scope !== undefined && want.dst.ip.family === 4 ? line`scope ${want.scope}` : '',
      want.mtu ? line`mtu ${want.mtu}` : '',
      want.advmss ? line`advmss ${want.advmss}` : '',
    ]
    return [{ tool: 'ip', on: 'sandbox', line: words.filter((word) => word !== '').join(' ') }]
  },
  remove: () => [], // it goes with the veth
}

function candidatesFor(want: Of<'route'>, seen: Observed): readonly SeenRoute[] {
  const dst = formatCidr(want.dst)
  const same = seen.routes.filter((have) => have.dst === dst)
  const inPlace = same.filter((have) => have.table === (want.table || MAIN))
  // A plugin behind in the chain, such as sbr, may have moved what asked for no table into one of its own.
  return inPlace.length > 0 || want.table ? inPlace : same
}

/** Only what the configuration asks for is compared: the kernel fills in the rest. */
function attributes(want: Of<'route'>): Partial<SeenRoute> {
  return {
    via: want.via ? formatIp(want.via) : '',
    ...(want.priority ? { priority: want.priority } : {}),
    ...(want.mtu ? { mtu: want.mtu } : {}),
    ...(want.advmss ? { advmss: want.advmss } : {}),
    ...(want.scope !== undefined && want.dst.ip.family === 4 ? { scope: want.scope } : {}),
  }
}

function differences(want: Partial<SeenRoute>, have: SeenRoute): { want: string; have: string }[] {
  return (Object.keys(want) as (keyof SeenRoute)[])
    .filter((key) => want[key] !== have[key])
    .map((key) => ({ want: `${key} ${want[key] || 'none'}`, have: `${key} ${have[key] || 'none'}` }))
}
