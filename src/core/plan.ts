/**
 * What ADD has to do: the desired resources, less what the host already has.
 *
 * Pure: the same input gives the same plan. Steps run in list order and are undone in reverse, so the caller lists a
 * resource after those it needs.
 */
import { elementOf } from './kinds/masquerade.ts'
import { guardsOf } from './kinds/spoofcheck.ts'
import { kindOf } from './kinds.ts'
import type { Observed, Op, Resource } from './resource.ts'

export interface Step {
  readonly resource: Resource
  /** False for a repair of what is there. */
  readonly isNew: boolean
  readonly run: readonly Op[]
  readonly undo: readonly Op[]
}

export interface Conflict {
  readonly resource: Resource
  readonly reason: string
}

export type Plan =
  | { readonly ok: true; readonly steps: readonly Step[] }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] }

/** What the steps put into nft sets. */
export function elementsOf(steps: readonly Step[]): readonly string[] {
  return steps.flatMap(({ resource }) => {
    if (resource.kind === 'masquerade') return [elementOf(resource)]
    return resource.kind === 'spoofcheck' ? guardsOf(resource) : []
  })
}

export function planAdd(desired: readonly Resource[], observed: Observed): Plan {
  const steps: Step[] = []
  const conflicts: Conflict[] = []
  for (const resource of desired) {
    const kind = kindOf(resource)
    const finding = kind.inspect(resource, observed)
    if (finding.is === 'different') {
      const repair = kind.repair?.(resource, observed) ?? []
      if (repair.length > 0) steps.push({ resource, isNew: false, run: repair, undo: [] })
      else conflicts.push({ resource, reason: `want ${finding.want}, have ${finding.have}` })
    } else if (finding.is === 'absent') {
      // A shared resource is not undone here: another ADD may use it by the time this one fails.
      const undo = kind.scope === 'attachment' ? kind.remove(resource) : []
      steps.push({ resource, isNew: true, run: kind.create(resource), undo })
    } else if (kind.whenPresent === 'refuse') {
      conflicts.push({ resource, reason: 'already exists' })
    }
  }
  return conflicts.length === 0 ? { ok: true, steps } : { ok: false, conflicts }
}
