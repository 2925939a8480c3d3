import { expect, test } from 'vitest'
import { chainOf, networkHash, ruleHash, spoofChains, spoofComment } from '../../src/core/reference.ts'

/** What the reference plugins 1.9.1 left for container `pod-a` (iptables) and `pod-b` (nftables) on network `t`. */
const a = { network: 't', containerID: 'pod-a', ifname: 'eth0' }
const b = { network: 't', containerID: 'pod-b', ifname: 'eth0' }

test('the chain of iptables: one for all interfaces of a container', () => {
  expect(chainOf(a)).toBe('CNI-6d0cc219dcbd852a0f89f2d9')
  expect(chainOf({ ...a, ifname: 'eth1' } as typeof a)).toBe(chainOf(a))
})

test('the comment of an nft rule: the network in front, then the attachment', () => {
  expect(networkHash('t')).toBe('99f97d455d5d62b2-')
  expect(ruleHash(b)).toBe('99f97d455d5d62b2-1f9f3d8e3da10b8c')
  expect(ruleHash({ ...b, ifname: 'eth1' })).not.toBe(ruleHash(b))
})

test('the hardware address filter', () => {
  expect(spoofChains(b)).toEqual(['cni-br-iface-pod-b-eth0', 'cni-br-iface-pod-b-eth0-mac'])
  expect(spoofComment(b)).toBe('macspoofchk-pod-b-eth0')
})
