/** Versions of the CNI specification: which ones Pontoon speaks, and from which one on a verb exists. */
import { CODE, Fault } from '../core/fault.ts'

export type Verb = 'ADD' | 'DEL' | 'CHECK' | 'STATUS' | 'GC' | 'VERSION'

export const SUPPORTED_VERSIONS = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const
export const NEWEST_VERSION = '1.1.0'
/** What a configuration without `cniVersion` means. */
export const OLDEST_VERSION = '0.1.0'

/** The specification that brought the verb. The others were always there. */
const SINCE: Partial<Record<Verb, string>> = { CHECK: '0.4.0', STATUS: '1.1.0', GC: '1.1.0' }

export function isSupported(version: string): boolean {
  return (SUPPORTED_VERSIONS as readonly string[]).includes(version)
}

/** Negative when `left` is the older one, 0 when equal. Both must be versions in figures, such as `1.0.0` or `1.0`. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [figures(left) ?? [], figures(right) ?? []]
  for (let i = 0; i < 3; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

export function isAtLeast(version: string, least: string): boolean {
  return compareVersions(version, least) >= 0
}

/**
 * Refuses a configuration whose version does not allow the verb.
 * @throws Fault code 1 when the version is not supported, too old for the verb or too new; code 6 when CHECK, STATUS
 *   or GC come with a version that is no number (specification 1.1.0, section "Error", and libcni's order of checks)
 */
export function requireVersion(verb: Verb, version: string): void {
  if (verb === 'VERSION') return
  const since = SINCE[verb]
  if (since !== undefined) {
    if (figures(version) === undefined) {
      throw new Fault(CODE.decode, `cniVersion "${version}" is not a version`, `write it as in "${NEWEST_VERSION}"`)
    }
    if (!isAtLeast(version, since)) {
      const remedy = `set cniVersion to ${since} or newer; without the key it is ${OLDEST_VERSION}`
      throw new Fault(CODE.incompatibleVersion, `cniVersion ${version} does not allow ${verb}`, remedy)
    }
    if (!isAtLeast(NEWEST_VERSION, version)) {
      const remedy = `set cniVersion to one of ${SUPPORTED_VERSIONS.join(', ')}`
      throw new Fault(CODE.incompatibleVersion, `${verb} of cniVersion ${version} is newer than this plugin`, remedy)
    }
  }
  if (!isSupported(version)) {
    const remedy = `the configuration says "${version}"; this plugin supports ${SUPPORTED_VERSIONS.join(', ')}`
    throw new Fault(CODE.incompatibleVersion, `cniVersion "${version}" is not supported`, remedy)
  }
}

/** The answer to VERSION, in the caller's version when it gave a supported one (specification 1.1.0, "VERSION"). */
export function versionDocument(cniVersion?: string): string {
  const spoken = cniVersion !== undefined && isSupported(cniVersion) ? cniVersion : NEWEST_VERSION
  return JSON.stringify({ cniVersion: spoken, supportedVersions: SUPPORTED_VERSIONS }, null, 4)
}

/** One to three figures, or undefined. */
function figures(version: string): number[] | undefined {
  return /^\d+(\.\d+){0,2}$/.test(version) ? version.split('.').map(Number) : undefined
}
