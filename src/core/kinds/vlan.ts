import { line } from '../line.ts'
import { ABSENT, different, type Kind, type Of, PRESENT, type SeenVlan, type VlanRange } from '../resource.ts'

/**
 * The VLANs of a bridge port: its own, untagged both ways, and those of a trunk, tagged. The default VLAN that the
 * bridge gave it stays, or goes together with whatever else it has.
 *
 * All of it may be said again to a port that carries traffic: what is to be there is added before the rest goes.
 */
export const vlan: Kind<Of<'vlan'>> = {
  scope: 'attachment',
  whenPresent: 'keep',
  name: (want) => `VLANs of ${want.port}`,
  inspect(want, seen) {
    const have = seen.vlans.get(want.port)
    if (!have) return ABSENT
    const wanted = wantedOf(want)
    const isThere = wanted.every((range) => covers(have, range))
    const isAlone = want.keepsDefault || have.every(({ min, max }) => wanted.some((w) => w.min <= min && max <= w.max))
    return isThere && isAlone ? PRESENT : different(formatVlans(wanted), formatVlans(have))
  },
  create(want) {
    const wanted = wantedOf(want)
    const others = want.keepsDefault ? [] : gapsOf(wanted)
    return [
      ...wanted.map((range) => line`vlan add dev ${want.port} vid ${spell(range)}` + (range.pvid ? FLAGS : '')),
      ...others.map((range) => line`vlan del dev ${want.port} vid ${spell(range)}`),
    ].map((text) => ({ tool: 'bridge', line: text }) as const)
  },
  remove: () => [], // they go with the port
  repair: (want) => vlan.create(want),
}

const FLAGS = ' pvid untagged'

/** Sorted. */
function wantedOf({ vlan: own, trunk }: Of<'vlan'>): readonly SeenVlan[] {
  const tagged = trunk.map(({ min, max }) => ({ min, max, pvid: false, untagged: false }))
  if (own === 0) return tagged
  return [...tagged, { min: own, max: own, pvid: true, untagged: true }].sort((a, b) => a.min - b.min)
}

/** Is all of this range there? What the port has may come in pieces. */
function covers(have: readonly SeenVlan[], { min, max, pvid, untagged }: SeenVlan): boolean {
  let next = min
  for (const piece of [...have].sort((a, b) => a.min - b.min)) {
    if (piece.pvid !== pvid || piece.untagged !== untagged || piece.min > next) continue
    next = Math.max(next, piece.max + 1)
  }
  return next > max
}

const LAST = 4094

/** The VLANs that are in none of these ranges, which are sorted and apart. */
function gapsOf(ranges: readonly VlanRange[]): readonly VlanRange[] {
  const starts = [1, ...ranges.map(({ max }) => max + 1)]
  const ends = [...ranges.map(({ min }) => min - 1), LAST]
  return starts.flatMap((min, i) => {
    const max = ends[i] ?? LAST
    return min <= max ? [{ min, max }] : []
  })
}

const spell = ({ min, max }: VlanRange): string => (min === max ? String(min) : `${min}-${max}`)

/** `100 (untagged), 200-299`: the VLAN of what comes untagged is marked with a star. */
function formatVlans(vlans: readonly SeenVlan[]): string {
  const words = vlans.map((range) => spell(range) + (range.pvid ? '*' : '') + (range.untagged ? ' (untagged)' : ''))
  return words.join(', ') || 'none'
}
