/** What a host may have of the resources, with only the members that a test is about. */
import { type Cidr, type Ip, parseCidr, parseIp } from '../../src/core/ip.ts'
import type { Observed, SeenAddress, SeenLink } from '../../src/core/resource.ts'

export function seen(parts: Partial<Observed> = {}): Observed {
  return {
    host: new Map(),
    sandbox: new Map(),
    routes: [],
    sysctls: new Map(),
    reservations: new Map(),
    masquerade: { elements: new Map(), served: new Set() },
    masqueraded: new Set(),
    guarded: new Set(),
    nat: new Map(),
    filter: { elements: new Map(), served: new Set() },
    vlans: new Map(),
    hostRoutes: new Set(),
    ...parts,
  }
}

/** Links by name, as `Observed` has them. A link is up unless the test says otherwise. */
export function links(byName: Record<string, Partial<SeenLink>>): ReadonlyMap<string, SeenLink> {
  return new Map(
    Object.entries(byName).map(([name, link], i) => [
      name,
      {
        index: i + 1,
        name,
        type: 'bridge',
        mac: '02:00:00:00:00:01',
        mtu: 1500,
        up: true,
        running: true,
        promisc: false,
        addresses: [],
        ...link,
      },
    ]),
  )
}

export function address(cidr: string, state: Partial<SeenAddress> = {}): SeenAddress {
  return { family: cidr.includes(':') ? 6 : 4, cidr, tentative: false, failed: false, ...state }
}

export function ip(text: string): Ip {
  const parsed = parseIp(text)
  if (!parsed) throw new Error(`not an address: ${text}`)
  return parsed
}

export function cidr(text: string): Cidr {
  const parsed = parseCidr(text)
  if (!parsed) throw new Error(`not an address with a prefix length: ${text}`)
  return parsed
}

export const attachment = { network: 'net1', containerID: 'c1', ifname: 'eth0' }
