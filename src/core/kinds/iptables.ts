import { formatCidr, formatIp, networkOf, widthOf } from '../ip.ts'
import { appendLine, deletionOf, isSameRule, MULTICAST, type NatRule, natComment } from '../nat.ts'
import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'

/**
 * Masquerading by iptables, in the reference's chains and with its comments, so that either plugin removes what the
 * other made. The chain is the container's: another interface of it on the same network has its jumps there too.
 */
export const iptables: Kind<Of<'iptables'>> = {
  scope: 'attachment',
  whenPresent: 'keep',
  name: ({ pods }) => `masquerade ${pods.map(({ ip }) => formatIp(ip)).join(', ')} by iptables`,
  inspect(want, seen) {
    const have = seen.nat.get(want.family) ?? []
    const rules = rulesOf(want)
    const missing = rules.filter((rule) => !have.some((other) => isSameRule(rule, other)))
    if (missing.length === 0) return PRESENT
    return missing.length === rules.length ? ABSENT : different(`"${appendLine(missing[0] as NatRule)}"`, 'none')
  },
  create: (want) => [
    { tool: 'iptables', family: want.family, lines: [`-N ${want.chain}`, ...rulesOf(want).map(appendLine)] },
  ],
  remove: (want) => [
    {
      tool: 'iptables',
      family: want.family,
      lines: [
        ...rulesOf(want)
          .filter(({ chain }) => chain !== want.chain)
          .map((rule) => deletionOf(appendLine(rule))),
        `-F ${want.chain}`,
        `-X ${want.chain}`,
      ],
    },
  ],
}

/** What a chain holds, and the jumps to it: nothing is masqueraded within the pod's subnet, nor to a multicast group. */
function rulesOf({ family, chain, attachment, pods, exclude = [], snatTo }: Of<'iptables'>): readonly NatRule[] {
  const comment = natComment(attachment.network, attachment.containerID)
  const subnets = new Set([...pods.map(networkOf), ...exclude].map(formatCidr))
  const inside = (destination: string, target: string) => ({ chain, source: '', destination, comment, target })
  return [
    ...[...subnets].map((subnet) => inside(subnet, 'ACCEPT')),
    inside(`! ${MULTICAST[family]}`, snatTo ? `SNAT --to-source ${formatIp(snatTo)}` : 'MASQUERADE'),
    ...pods.map(({ ip }) => {
      const source = `${formatIp(ip)}/${widthOf(family)}`
      return { chain: 'POSTROUTING', source, destination: '', comment, target: chain }
    }),
  ]
}
