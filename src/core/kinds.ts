/** All kinds of resources. The mapped type is the guard: a new kind does not compile until it can be undone. */
import { address } from './kinds/address.ts'
import { bridge } from './kinds/bridge.ts'
import { gateway } from './kinds/gateway.ts'
import { hostRoute } from './kinds/host-route.ts'
import { iptables } from './kinds/iptables.ts'
import { link } from './kinds/link.ts'
import { masquerade } from './kinds/masquerade.ts'
import { port } from './kinds/port.ts'
import { reservation } from './kinds/reservation.ts'
import { route } from './kinds/route.ts'
import { spoofcheck } from './kinds/spoofcheck.ts'
import { sysctl } from './kinds/sysctl.ts'
import { untracked } from './kinds/untracked.ts'
import { veth } from './kinds/veth.ts'
import { vlan } from './kinds/vlan.ts'
import { vlanGateway } from './kinds/vlan-gateway.ts'
import type { Kind, Of, Resource } from './resource.ts'

const KINDS: { readonly [K in Resource['kind']]: Kind<Of<K>> } = {
  reservation,
  veth,
  bridge,
  vlanGateway,
  sysctl,
  gateway,
  hostRoute,
  port,
  vlan,
  link,
  address,
  route,
  masquerade,
  iptables,
  untracked,
  spoofcheck,
}

export function kindOf<R extends Resource>(resource: R): Kind<R> {
  // Safe by the mapped type above: the kind's name picks the kind of exactly that resource.
  return KINDS[resource.kind] as unknown as Kind<R>
}

/** `bridge cni0`: how messages and plans call it. */
export function nameOf(resource: Resource): string {
  return kindOf(resource).name(resource)
}
