import { expect, test } from 'vitest'
import { type Attachment, hostVethOf, keyOf, labelOf } from '../../src/core/attachment.ts'
import type { SeenLink } from '../../src/core/resource.ts'
import { portsOf } from '../../src/verbs/ports.ts'
import { attachment, links } from '../core/seen.ts'

const other = { ...attachment, network: 'net2', containerID: 'c2' }
const long = { network: 'n'.repeat(120), containerID: 'c'.repeat(140), ifname: 'eth0' }
const longPod = { ...attachment, pod: `shop/${'p'.repeat(253)}` }

/** A pod's port as ADD makes it. */
function port(of: Attachment, parts: Partial<SeenLink> = {}): Partial<SeenLink> {
  return { type: 'veth', name: hostVethOf(keyOf(of)), alias: labelOf(of), ...parts }
}

test.each<[name: string, ports: Partial<SeenLink>[], isQuiet: boolean, named: string[]]>([
  ['none', [], true, []],
  ['of two networks', [port(attachment), port(other)], true, [attachment.containerID, 'c2']],
  ['renamed, with its label', [port(attachment, { name: 'veth0' })], true, [attachment.containerID]],
  ["the reference's, without a label", [port(attachment), { type: 'veth' }], false, [attachment.containerID]],
  ["with somebody else's alias", [{ type: 'veth', alias: 'uplink' }], false, []],
  ["a VLAN gateway's, whose other end is here too", [{ type: 'veth', peerName: 'cni0.5' }], true, []],
  ["the node's own interface", [{ type: 'device' }], true, []],
  ['with a label that was cut within the ID', [port(long)], false, []],
  ['with a label that was cut behind what counts', [port(longPod)], true, [attachment.containerID]],
])('ports of the bridge: %s', (_, ports, isQuiet, named) => {
  const seen = links(Object.fromEntries(ports.map((one, i) => [`port${i}`, one])))
  const found = portsOf([...seen.values()])
  expect(found.isQuiet).toBe(isQuiet)
  expect(found.named.map(({ containerID }) => containerID)).toEqual(named)
})
