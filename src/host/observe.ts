/** What the host has of the desired resources, put together from what sessions printed and files say. */
import type { Observed, Resource, SeenLink, SeenMasquerade, SeenRoute } from '../core/resource.ts'
import { readSysctl } from './machine.ts'

export const NO_MASQUERADE: SeenMasquerade = { elements: new Map(), served: new Set() }

export function observed(parts: Partial<Observed>): Observed {
  return {
    host: new Map<string, SeenLink>(),
    sandbox: new Map<string, SeenLink>(),
    routes: [] as readonly SeenRoute[],
    hostRoutes: new Set(),
    sysctls: new Map(),
    reservations: new Map(),
    masquerade: NO_MASQUERADE,
    filter: NO_MASQUERADE,
    vlans: new Map(),
    masqueraded: new Set(),
    guarded: new Set(),
    nat: new Map(),
    ...parts,
  }
}

/** The sysctls that the resources are about, those that exist. */
export function readSysctls(desired: readonly Resource[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const resource of desired) {
    if (resource.kind !== 'sysctl') continue
    const value = readSysctl(resource.key)
    if (value !== undefined) values.set(resource.key, value)
  }
  return values
}
