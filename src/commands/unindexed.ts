/**
 * Pods of which the index has nothing: it was lost, or another plugin made them. Pontoon's own are told by the labels of
 * their host ends, the others only by their reservations and by ports of the bridge that are nobody's. Pure.
 */
import { type Attachment, parseLabel } from '../core/attachment.ts'
import { contains, formatCidr, parseIp } from '../core/ip.ts'
import type { RangeSet } from '../core/ranges.ts'
import type { SeenLink } from '../core/resource.ts'
import type { IndexEntry } from '../host/index-files.ts'
import type { Known, LeaseRow } from './leases/rows.ts'
import type { NetworkView } from './view.ts'

type Links = ReadonlyMap<string, SeenLink>

/** The view with those that the labels tell of. What only the index knew of them is empty: their namespace above all. */
export function withLabelled(view: NetworkView, links: Links): NetworkView {
  const isIndexed = (owner: Attachment) =>
    view.known.some(({ entry }) => entry.containerID === owner.containerID && entry.ifname === owner.ifname)
  const { netconf, name } = view.network
  const masquerade = netconf.ipMasq ? (netconf.ipMasqBackend ?? 'nftables') : 'none'
  const found = [...links.values()].flatMap(({ name: hostVeth, alias }): readonly Known[] => {
    const owner = parseLabel(alias)
    if (!owner || owner.network !== name || isIndexed(owner)) return []
    const addresses = view.rows.filter((row) => isOf(row, owner)).flatMap((row) => cidrOf(row, view.sets))
    return [{ entry: { ...blank(view), ...owner, hostVeth, addresses, masquerade }, isDead: false }]
  })
  return found.length === 0
    ? view
    : { ...view, known: [...view.known, ...found], rows: view.rows.map((row) => seenBy(row, found)) }
}

function seenBy(row: LeaseRow, found: readonly Known[]): LeaseRow {
  const entry = found.find((one) => isOf(row, one.entry))?.entry
  return entry ? { ...row, state: 'live', hostVeth: entry.hostVeth, pod: entry.pod ?? '' } : row
}

/** One for each address that a pod of another plugin may live by; none when the bridge has no port for such a pod. */
export function strangersOf(view: NetworkView, links: Links): readonly IndexEntry[] {
  const { bridge } = view.network.netconf
  const own = new Set(view.known.map(({ entry }) => entry.hostVeth))
  const hasPort = [...links.values()].some(
    ({ name, master, type, peerName }) => master === bridge && type === 'veth' && !peerName && !own.has(name),
  )
  if (!hasPort) return []
  return view.rows
    .filter((row) => row.state === 'unknown' && !view.known.some(({ entry }) => isOf(row, entry)))
    .map((row) => ({ ...blank(view), ...row, network: view.network.name, addresses: cidrOf(row, view.sets) }))
}

function isOf(row: LeaseRow, { containerID, ifname }: Attachment): boolean {
  return row.containerID === containerID && row.ifname === ifname
}

/** With the prefix length of its subnet; none when it is of no range. */
function cidrOf({ address }: LeaseRow, sets: readonly RangeSet[]): readonly string[] {
  const ip = parseIp(address)
  const range = ip && sets.flat().find(({ subnet }) => contains(subnet, ip))
  return ip && range ? [formatCidr({ ip, prefix: range.subnet.prefix })] : []
}

export function blank({
  network,
}: NetworkView): Omit<IndexEntry, keyof Attachment | 'addresses' | 'hostVeth'> & { hostVeth: '' } {
  return {
    version: 1,
    dataDir: '',
    done: true,
    pid: 0,
    netns: '',
    device: 0,
    inode: 0,
    hostVeth: '',
    bridge: network.netconf.bridge,
    masquerade: 'none',
    elements: [],
    boot: '',
    time: 0,
  }
}
