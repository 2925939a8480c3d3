import { type Attachment, commentOf, digest } from '../attachment.ts'
import { type Cidr, formatCidr, formatIp, widthOf } from '../ip.ts'
import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'

/** Table and chain are those of the reference plugin's nftables backend, so that both see each other's rules. */
export const TABLE = 'cni_plugins_masquerade'
const RULES = 'masq_checks'

/**
 * One element in the set of (network, subnet), and a constant rule for that set: traffic from a pod to anywhere but
 * its own subnet leaves with the node's address. Adding an element costs the kernel far less than adding a rule.
 */
export const masquerade: Kind<Of<'masquerade'>> = {
  scope: 'attachment',
  whenPresent: 'keep',
  name: (want) => `masquerade ${formatIp(want.address)}`,
  inspect(want, seen) {
    const comment = seen.masquerade.elements.get(elementOf(want))
    if (comment === undefined) return seen.masqueraded.has(formatIp(want.address)) ? PRESENT : ABSENT
    // The comment may be a former owner's, whom nobody removed. What counts is what becomes of the packets.
    if (seen.masquerade.served.has(setOf(want))) return PRESENT
    return different(
      'a rule that masquerades',
      seen.masquerade.idle?.has(setOf(want)) ? 'one that is not reached' : 'none',
    )
  },
  create: (want) => [
    {
      tool: 'nft',
      lines: [additionOf(elementOf(want), want.attachment)],
      whenMissing: setUp(want),
    },
  ],
  remove: (want) => [{ tool: 'nft', lines: deletionOf(elementOf(want)), whenMissing: [] }],
  repair(want, seen) {
    // A rule that is there would be there twice.
    if (!seen.masquerade.idle?.has(setOf(want))) return masquerade.create(want)
    return [{ tool: 'nft', lines: [additionOf(elementOf(want), want.attachment)], whenMissing: wayTo(familyOf(want)) }]
  },
}

/** `inet cni_plugins_masquerade pods_… 10.9.0.2`: how an element is called here, and the key of those observed. */
export function elementOf(want: Of<'masquerade'>): string {
  return `${setOf(want)} ${formatIp(want.address)}`
}

/** The address that an element masquerades; undefined when it does something else. Its comment may be a former owner's. */
export function masqueradedBy(element: string): string | undefined {
  const [, table, , address] = element.split(' ')
  return table === TABLE ? address : undefined
}

/** The line that adds an element of an attachment's. */
export function additionOf(element: string, attachment: Attachment): string {
  const [family, table, set, ...key] = element.split(' ')
  return `add element ${family} ${table} ${set} { ${key.join(' ')} comment ${quoted(commentOf(attachment))} }`
}

/** Deleting what is not there is an error to nft, adding what is there is none: so both, in one transaction. */
export function deletionOf(element: string): readonly string[] {
  const [family, table, set, ...key] = element.split(' ')
  const target = `element ${family} ${table} ${set} { ${key.join(' ')} }`
  return [`add ${target}`, `delete ${target}`]
}

/** `inet cni_plugins_masquerade pods_…`: family, table and set, as nft wants them. */
function setOf(want: Of<'masquerade'>): string {
  return `${familyOf(want)} ${TABLE} ${setName(want)}`
}

function familyOf({ inet, subnet }: Of<'masquerade'>): string {
  if (inet) return 'inet'
  return subnet.ip.family === 4 ? 'ip' : 'ip6'
}

/** Everything that belongs to a network has this in front of its name. */
export function setPrefix(network: string): string {
  return `pods-${network}-`
}

/**
 * nft's names have no colons: `pods-net1-10.9.0.0/24`, `pods-net1-fd00_9__/64`. Pods whose traffic leaves in another
 * way, since the configuration was changed, are in a set of another name: some digits are added.
 */
function setName({ attachment, subnet, exclude = [], snatTo }: Of<'masquerade'>): string {
  const way = [...exclude.map(formatCidr), snatTo ? formatIp(snatTo) : '']
  const digits = exclude.length > 0 || snatTo ? `_${digest(...way).slice(0, 8)}` : ''
  return setPrefix(attachment.network) + nameOf(subnet).replaceAll(':', '_') + digits
}

/**
 * What pods of one set have in common. Those whose subnet is their address share one, or each would leave a set and a
 * rule of its own behind: every packet that begins a connection would pass all of them.
 */
function nameOf(subnet: Cidr): string {
  return isSingle(subnet) ? `single/${subnet.prefix}` : formatCidr(subnet)
}

function isSingle({ ip, prefix }: Cidr): boolean {
  return prefix === widthOf(ip.family)
}

/** Everything below the element. `create set` makes the second of two that race fail as a whole. */
function setUp(want: Of<'masquerade'>): readonly string[] {
  const { network } = want.attachment
  const family = familyOf(want)
  const set = setName(want)
  const ip = want.subnet.ip.family === 4 ? 'ip' : 'ip6'
  const type = want.subnet.ip.family === 4 ? 'ipv4_addr' : 'ipv6_addr'
  const subnet = nameOf(want.subnet)
  const stays = [...(isSingle(want.subnet) ? [] : [want.subnet]), ...(want.exclude ?? [])].map(formatCidr)
  const others = stays.length > 1 ? `{ ${stays.join(', ')} }` : stays[0]
  const leaves = want.snatTo ? `snat ${family === 'inet' ? `${ip} ` : ''}to ${formatIp(want.snatTo)}` : 'masquerade'
  return [
    ...wayTo(family),
    `create set ${family} ${TABLE} ${set} { type ${type}; comment ${quoted(`net: ${network}, ${subnet}`)}; }`,
    `add rule ${family} ${TABLE} ${RULES} ${ip} saddr @${set} ${others ? `${ip} daddr != ${others} ` : ''}${leaves} ` +
      `comment ${quoted(`net: ${network}, ${subnet}`)}`,
  ]
}

/** The chains, and what leads packets from the kernel to the rules of all networks. */
function wayTo(family: string): readonly string[] {
  const multicast = [
    ...(family === 'ip6' ? [] : ['ip daddr 224.0.0.0/4']),
    ...(family === 'ip' ? [] : ['ip6 daddr ff00::/8']),
  ]
  return [
    `add table ${family} ${TABLE}`,
    `add chain ${family} ${TABLE} ${RULES}`,
    `add chain ${family} ${TABLE} postrouting { type nat hook postrouting priority 100; }`,
    `flush chain ${family} ${TABLE} postrouting`,
    ...multicast.map((match) => `add rule ${family} ${TABLE} postrouting ${match} return`),
    `add rule ${family} ${TABLE} postrouting goto ${RULES}`,
  ]
}

/** nft's comments hold 128 bytes. Nothing in them needs escaping: names have no quotes by their patterns. */
function quoted(text: string): string {
  return `"${text.slice(0, 128)}"`
}
