import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'

/** A kernel setting of the host: forwarding, or IPv6 on the bridge. Written only where it differs. */
export const sysctl: Kind<Of<'sysctl'>> = {
  scope: 'network',
  whenPresent: 'keep',
  name: (want) => `sysctl ${want.key.replaceAll('/', '.')}`,
  inspect(want, seen) {
    const have = seen.sysctls.get(want.key)
    if (have === undefined) return ABSENT
    return have === want.value ? PRESENT : different(want.value, have)
  },
  create: (want) => [{ tool: 'sysctl', key: want.key, value: want.value }],
  remove: () => [], // others forward too
  repair: (want) => [{ tool: 'sysctl', key: want.key, value: want.value }],
}
