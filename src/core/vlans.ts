/** What a network in a VLAN has beyond others. */
import { digest, hostVethOf } from './attachment.ts'
import type { NetworkOptions } from './describe.ts'
import type { Resource, VlanRange } from './resource.ts'

type Options = Pick<NetworkOptions, 'bridge' | 'vlan' | 'vlanTrunk' | 'preserveDefaultVlan' | 'mtu'>

/** The device that has the gateway's addresses: the bridge, or the host's place in the VLAN. */
export function gatewayDeviceOf({ bridge, vlan }: Pick<Options, 'bridge' | 'vlan'>): string {
  return vlan > 0 ? `${bridge}.${vlan}` : bridge
}

/** The port at the other end of a VLAN gateway that is yet to be made. */
export function gatewayPortOf(device: string): string {
  return hostVethOf(digest('VLAN gateway', device))
}

/** Does anything of this network need a bridge that tells VLANs apart? A trunk of no VLAN does: it makes the bridge so. */
export function needsVlanFiltering({ vlan, vlanTrunk }: Pick<Options, 'vlan' | 'vlanTrunk'>): boolean {
  return vlan > 0 || vlanTrunk !== undefined
}

/** Does it put ports into VLANs? */
export function hasVlans({ vlan, vlanTrunk = [] }: Pick<Options, 'vlan' | 'vlanTrunk'>): boolean {
  return vlan > 0 || vlanTrunk.length > 0
}

/** The VLANs of this port of the bridge. */
export function vlansOf(port: string, options: Options): readonly Resource[] {
  if (!hasVlans(options)) return []
  const { vlan, vlanTrunk = [], preserveDefaultVlan } = options
  const trunk = vlan > 0 ? vlanTrunk.flatMap((range) => without(range, vlan)) : vlanTrunk
  // Without a VLAN of its own a trunk has its untagged frames in the default one.
  return [{ kind: 'vlan', port, vlan, trunk, keepsDefault: vlan === 0 || preserveDefaultVlan }]
}

function without({ min, max }: VlanRange, vlan: number): readonly VlanRange[] {
  if (vlan < min || vlan > max) return [{ min, max }]
  return [...(min < vlan ? [{ min, max: vlan - 1 }] : []), ...(vlan < max ? [{ min: vlan + 1, max }] : [])]
}

/** The host's place in the VLAN, before it has addresses. */
export function vlanGatewayOf(options: Options, { port, mac }: { port: string; mac: string }): readonly Resource[] {
  const { bridge, mtu } = options
  return [
    { kind: 'vlanGateway', bridge, name: gatewayDeviceOf(options), mac, port, mtu },
    ...vlansOf(port, { ...options, vlanTrunk: undefined }),
  ]
}

/** What a kernel lacks that makes no bridge with VLANs. */
export const KERNEL_REMEDY =
  'vlan and vlanTrunk need a kernel with CONFIG_BRIDGE_VLAN_FILTERING (and CONFIG_VLAN_8021Q, which it rests on): use ' +
  'one, or remove the keys'
