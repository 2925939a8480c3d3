/** What CHECK finds: how the host differs from the desired resources, every difference at once. */
import { kindOf, nameOf } from './kinds.ts'
import type { Observed, Resource } from './resource.ts'

/** @returns `NAME: want X, have Y` for each resource that is missing or different; empty when all is as it should be */
export function verify(desired: readonly Resource[], observed: Observed): readonly string[] {
  return desired.flatMap((resource) => {
    const finding = kindOf(resource).inspect(resource, observed)
    if (finding.is === 'present') return []
    if (finding.is === 'absent') return [`${nameOf(resource)}: missing`]
    return [`${nameOf(resource)}: want ${finding.want}, have ${finding.have}`]
  })
}

/** True when nothing is missing or different. */
export function isSettled(desired: readonly Resource[], observed: Observed): boolean {
  return verify(desired, observed).length === 0
}
