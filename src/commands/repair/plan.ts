/**
 * What living attachments lack of what ADD made for them on the host: from the same list as ADD's and CHECK's. Pure.
 */
import { kindOf } from '../../core/kinds.ts'
import type { Observed, Op, Resource } from '../../core/resource.ts'

export interface Repair {
  readonly resource: Resource
  /** What is wrong: `missing`, or `want …, have …`. */
  readonly reason: string
  readonly run: readonly Op[]
  /** Something of it is there: what it stands on may be what is missing. */
  readonly isPartial: boolean
}

export type Obstacle = Pick<Repair, 'resource' | 'reason'>

export interface Repairs {
  readonly steps: readonly Repair[]
  /** What a repair must leave alone. */
  readonly obstacles: readonly Obstacle[]
}

/** What is made anew on the host. The rest is the container's, and went with it if it went. */
const RESTORED: readonly Resource['kind'][] = [
  'bridge',
  'vlanGateway',
  'sysctl',
  'gateway',
  'hostRoute',
  'port',
  'vlan',
  'masquerade',
  'iptables',
  'untracked',
  'spoofcheck',
]

export function isRestored({ kind }: Resource): boolean {
  return RESTORED.includes(kind)
}

/** @param desired of all attachments: what they share may be in it more than once */
export function planRepair(desired: readonly Resource[], seen: Observed): Repairs {
  const steps: Repair[] = []
  const obstacles: Obstacle[] = []
  for (const resource of unique(desired.filter(isRestored))) {
    const kind = kindOf(resource)
    const finding = kind.inspect(resource, seen)
    if (finding.is === 'present') continue
    const run = finding.is === 'absent' ? kind.create(resource) : remedyOf(resource, seen)
    const reason = finding.is === 'absent' ? 'missing' : `want ${finding.want}, have ${finding.have || 'none'}`
    if (run.length > 0) steps.push({ resource, reason, run, isPartial: finding.is === 'different' })
    else obstacles.push({ resource, reason })
  }
  return { steps, obstacles }
}

/** Of a port or of rules that are there in part, all is said again: it takes no harm from that. */
function remedyOf(resource: Resource, seen: Observed): readonly Op[] {
  const kind = kindOf(resource)
  const repair = kind.repair?.(resource, seen) ?? []
  if (repair.length > 0) return repair
  if (resource.kind === 'port') return [...kind.create(resource), ...plainFlags(resource)]
  return ['masquerade', 'iptables', 'untracked', 'spoofcheck'].includes(resource.kind) ? kind.create(resource) : []
}

/** ADD's port is new: it only says what differs from a new one's settings. */
function plainFlags({ host, hairpin, isolated }: Extract<Resource, { kind: 'port' }>): readonly Op[] {
  const flags = [...(hairpin ? [] : ['hairpin off']), ...(isolated ? [] : ['isolated off'])]
  if (flags.length === 0) return []
  return [{ tool: 'ip', on: 'host', line: `link set dev ${host} type bridge_slave ${flags.join(' ')}` }]
}

function unique(resources: readonly Resource[]): readonly Resource[] {
  const byName = new Map<string, Resource>()
  for (const resource of resources) {
    const name = kindOf(resource).name(resource)
    if (!byName.has(name)) byName.set(name, resource)
  }
  return [...byName.values()]
}
