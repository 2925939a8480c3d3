import { line } from '../line.ts'
import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'

const flag = (on: boolean): string => (on ? 'on' : 'off')

export const port: Kind<Of<'port'>> = {
  scope: 'attachment',
  whenPresent: 'refuse',
  name: (want) => `port ${want.host}`,
  inspect(want, seen) {
    const have = seen.host.get(want.host)
    if (!have?.master) return ABSENT
    if (have.master !== want.bridge) return different(want.bridge, have.master)
    if (!have.up) return different('up', 'down')
    const hairpin = have.port?.hairpin ?? false
    if (hairpin !== want.hairpin) return different(`hairpin ${flag(want.hairpin)}`, `hairpin ${flag(hairpin)}`)
    const isolated = have.port?.isolated ?? false
    return isolated === want.isolated
      ? PRESENT
      : different(`isolated ${flag(want.isolated)}`, `isolated ${flag(isolated)}`)
  },
  create(want) {
    const flags = (want.hairpin ? ' hairpin on' : '') + (want.isolated ? ' isolated on' : '')
    return [
      line`link set dev ${want.host} master ${want.bridge} up`,
      // A device takes a port's settings only once it is one: not in the same request.
      ...(flags ? [line`link set dev ${want.host} type bridge_slave` + flags] : []),
    ].map((text) => ({ tool: 'ip', on: 'host', line: text }) as const)
  },
  remove: () => [], // it goes with the veth
}
