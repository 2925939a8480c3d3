import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  bridgeMacOf,
  commentKey,
  commentOf,
  digest,
  hostMacOf,
  hostVethOf,
  isCommentOf,
  keyOf,
  labelOf,
  parseLabel,
  sandboxMacOf,
} from '../../src/core/attachment.ts'
import fc from '../properties.ts'
import { attachment, ip } from './seen.ts'

const names = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,70}$/)
const ifnames = fc.stringMatching(/^[A-Za-z0-9_.-]{1,15}$/)
const attachments = fc.record({ network: names, containerID: names, ifname: ifnames })
const MAC = /^[0-9a-f][26ae](:[0-9a-f]{2}){5}$/

test('a digest is SHA-256 of the words with NULs between them', () => {
  const want = createHash('sha256').update('net1\0c1\0eth0').digest('hex')
  expect([digest('net1', 'c1', 'eth0'), keyOf(attachment)]).toEqual([want, want])
})

test('each of the three words counts, and where one ends; the pod does not', () => {
  const others = [
    { ...attachment, network: 'net2' },
    { ...attachment, containerID: 'c2' },
    { ...attachment, ifname: 'eth1' },
    { network: 'net', containerID: '1c1', ifname: 'eth0' },
  ]
  expect(new Set([attachment, ...others].map(keyOf)).size).toBe(5)
  expect(keyOf({ ...attachment, pod: 'shop/cart-0' })).toBe(keyOf(attachment))
})

test('the key is right for whichever attachment is asked for', () => {
  fc.assert(
    fc.property(attachments, attachments, (a, b) => {
      for (const { network, containerID, ifname } of [a, b, a, a]) {
        const want = createHash('sha256').update(`${network}\0${containerID}\0${ifname}`).digest('hex')
        expect(keyOf({ network, containerID, ifname })).toBe(want)
      }
    }),
  )
})

test('the names of one attachment stay what they are: DEL of a later version has to find them', () => {
  const key = keyOf(attachment)
  expect({
    veth: hostVethOf(key),
    label: labelOf(attachment),
    hostMac: hostMacOf(key),
    sandboxMac: sandboxMacOf(undefined, key),
    bridgeMac: bridgeMacOf('0123456789abcdef', 'cni0'),
    comment: commentOf(attachment),
  }).toEqual({
    bridgeMac: '02:63:41:b1:71:1d',
    comment: '451fbda28a818902, net: net1, if: eth0, id: c1',
    hostMac: '02:18:90:2b:d2:3b',
    label: 'pontoon:net1/c1/eth0',
    sandboxMac: '02:54:29:4b:e4:84',
    veth: 'veth451fbda28a8',
  })
})

test('names and hardware addresses are ones that the kernel takes', () => {
  fc.assert(
    fc.property(attachments, fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant(undefined)), (own, address) => {
      const key = keyOf(own)
      expect(hostVethOf(key)).toMatch(/^veth[0-9a-f]{11}$/)
      const macs = [hostMacOf(key), sandboxMacOf(address ? ip(address) : undefined, key), bridgeMacOf('m', own.network)]
      for (const mac of macs) expect(mac).toMatch(MAC)
    }),
  )
})

test.each([
  ['10.9.0.2', '0a:58:0a:09:00:02'],
  ['0.0.0.1', '0a:58:00:00:00:01'],
  ['255.255.255.255', '0a:58:ff:ff:ff:ff'],
])('the hardware address of a pod with %s can be read: %s', (address, want) => {
  expect(sandboxMacOf(ip(address), keyOf(attachment))).toBe(want)
})

test('a pod that gets an IPv6 address again has the same hardware address again, whoever it is', () => {
  const [a, b] = [keyOf(attachment), keyOf({ ...attachment, containerID: 'c2' })]
  expect(sandboxMacOf(ip('fd00::9'), a)).toBe(sandboxMacOf(ip('fd00::9'), b))
  expect(sandboxMacOf(ip('fd00::9'), a)).not.toBe(sandboxMacOf(ip('fd00::a'), a))
})

test.each([
  { ...attachment },
  { ...attachment, pod: 'shop/cart-0' },
  { network: 'a.b-c_d', containerID: 'x'.repeat(64), ifname: 'net1' },
])('a label names its attachment: %j', (own) => {
  expect(parseLabel(labelOf(own))).toEqual(own)
})

test('a label is cut at what an alias may have, and names the attachment all the same', () => {
  const long = { network: 'n'.repeat(60), containerID: 'c'.repeat(64), ifname: 'eth0', pod: `ns/${'p'.repeat(200)}` }
  const { network, containerID, ifname } = long
  expect(labelOf(long)).toHaveLength(255)
  expect(parseLabel(labelOf(long))).toMatchObject({ network, containerID, ifname })
})

test.each([
  undefined,
  '',
  'uplink',
  'pontoon:',
  'pontoon:net1',
  'pontoon:net1/c1',
  'pontoon:net1//eth0',
  'Pontoon:net1/c1/eth0',
])('the alias %j names no attachment', (alias) => {
  expect(parseLabel(alias)).toBeUndefined()
})

test('a comment fits into what nft keeps, and tells its attachment when it is cut', () => {
  fc.assert(
    fc.property(attachments, attachments, (a, b) => {
      expect(commentOf(a).length).toBeLessThanOrEqual(128)
      expect(commentKey(commentOf(a))).toBe(keyOf(a).slice(0, 16))
      expect(commentKey(commentOf(a)) === commentKey(commentOf(b))).toBe(keyOf(a) === keyOf(b))
    }),
  )
})

test('a comment is told from those of others, also where only its front was kept', () => {
  fc.assert(
    fc.property(attachments, attachments, (a, b) => {
      const longer = { ...a, containerID: `${a.containerID}${'x'.repeat(128)}` }
      const all = [a, b, longer, { ...longer, containerID: `${longer.containerID}y` }, { ...a, ifname: `${a.ifname}0` }]
      for (const one of all)
        for (const other of all) {
          expect(isCommentOf(commentOf(one), other)).toBe(keyOf(one) === keyOf(other))
        }
    }),
  )
  expect(isCommentOf('', attachment)).toBe(false)
})
