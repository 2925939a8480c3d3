/** How it is told what is dead, or was removed. Pure. */
import type { GarbageOf } from '../gc.ts'
import { shortId } from '../leases.ts'
import { NO_NETWORKS } from '../networks.ts'
import { count, type Paint, table } from '../text.ts'

export function gcText(found: readonly GarbageOf[], isApplied: boolean, paint: Paint): string {
  if (found.length === 0) return NO_NETWORKS
  const isMore = found.some(({ items, isOver }) => items.length > 0 || isOver) && !isApplied
  const rest = isMore ? ['', 'nothing was removed: --apply does'] : []
  return [...found.map((one) => networkText(one, isApplied, paint)), ...rest].join('\n')
}

function networkText({ network, items, failures, isOver }: GarbageOf, isApplied: boolean, paint: Paint): string {
  const verb = isApplied ? 'removed' : 'to be removed'
  const failed = failures.map((text) => paint('red', `  could not remove: ${text}`))
  const shared =
    isOver && failed.length === 0 ? [`  ${verb}: its rules and its bridge, where nothing else uses them`] : []
  if (items.length === 0) return [`${paint('bold', network)}  nothing is dead`, ...shared, ...failed].join('\n')
  const rows = items.map(({ containerID, ifname, addresses, links, rules }) => [
    containerID === '' ? '(of no container)' : `${shortId(containerID)}/${ifname}`,
    addresses.join(', ') || '-',
    links.join(', ') || '-',
    rules.length > 0 ? count(rules.length, 'rule') : '-',
  ])
  const head = `${paint('bold', network)}  ${verb}: ${count(items.length, 'attachment')}`
  return [head, table([['CONTAINER', 'ADDRESSES', 'LINKS', 'RULES'], ...rows], '  '), ...shared, ...failed].join('\n')
}
