import { expect, test } from 'vitest'
import { commentOf, hostVethOf, keyOf, labelOf } from '../../src/core/attachment.ts'
import { elementOf } from '../../src/core/kinds/masquerade.ts'
import type { SeenLink, SeenMasquerade } from '../../src/core/resource.ts'
import { elementsBut, elementsNamed, isOwnLink, withoutPrefix } from '../../src/verbs/victims.ts'
import { attachment, cidr, ip, links } from '../core/seen.ts'

const name = hostVethOf(keyOf(attachment))

function link(parts: Partial<SeenLink>): SeenLink | undefined {
  return links({ [name]: { type: 'veth', ...parts } }).get(name)
}

test.each<[name: string, link: SeenLink | undefined, want: boolean]>([
  ['none', undefined, false],
  ['with its label', link({ alias: labelOf(attachment) }), true],
  ['with its label and a pod', link({ alias: labelOf({ ...attachment, pod: 'shop/cart-0' }) }), true],
  ['without a label, as a killed ADD leaves it', link({}), true],
  ['with the label of another network', link({ alias: labelOf({ ...attachment, network: 'net2' }) }), false],
  ['with the label of another container', link({ alias: labelOf({ ...attachment, containerID: 'c2' }) }), false],
  ['with the label of another interface', link({ alias: labelOf({ ...attachment, ifname: 'eth01' }) }), false],
  ['with an alias of somebody else', link({ alias: 'uplink' }), false],
  ['of that name, but a bridge', link({ type: 'bridge' }), false],
  ['of another name', link({ name: 'veth0', alias: labelOf(attachment) }), false],
])('its own host end: %s', (_, found, want) => {
  expect(isOwnLink(found, attachment)).toBe(want)
})

test('a label that was cut is its own all the same', () => {
  const long = { network: 'n'.repeat(150), containerID: 'c'.repeat(120), ifname: 'eth0', pod: 'shop/cart-0' }
  const host = hostVethOf(keyOf(long))
  expect(isOwnLink(links({ [host]: { type: 'veth', alias: labelOf(long) } }).get(host), long)).toBe(true)
})

/** The element of a pod of this network, in the subnet 10.9.0.0/24 or fd00:9::/64, and its comment. */
function element(network: string, containerID: string, address: string): [string, string] {
  const of = { network, containerID, ifname: 'eth0' }
  const subnet = cidr(address.includes(':') ? 'fd00:9::/64' : '10.9.0.0/24')
  return [elementOf({ kind: 'masquerade', attachment: of, address: ip(address), subnet, inet: true }), commentOf(of)]
}

const mine = element('net1', 'c1', '10.9.0.2')
const mine6 = element('net1', 'c1', 'fd00:9::2')
const next = element('net1', 'c2', '10.9.0.3')
const alien: [string, string] = [element('net1', 'c3', '10.9.0.4')[0], '']
const others = [
  element('net', 'c1', '10.9.0.2'),
  element('net10', 'c1', '10.9.0.2'),
  element('net1-b', 'c1', '10.9.0.2'),
  element('net1-b', 'c1', 'fd00:9::2'),
  element('pods-net1', 'c1', '10.9.0.2'),
  element('net1.b', 'c1', '10.9.0.2'),
  element('net1-10.9.0.0', 'c1', '10.9.0.2'),
]
const seen: SeenMasquerade = {
  elements: new Map([mine, mine6, next, alien, ...others]),
  served: new Set(),
}

test('the elements that bear the name of an attachment', () => {
  expect(elementsNamed(seen, attachment)).toEqual([mine[0], mine6[0]])
})

test('an element of an address that is reserved for it is its own, whatever name it bears; once', () => {
  expect(elementsNamed(seen, attachment, ['10.9.0.3', '10.9.0.2'])).toEqual([mine[0], mine6[0], next[0]])
  expect(elementsNamed({ ...seen, elements: new Map() }, attachment, ['10.9.0.3'])).toEqual([])
})

test('comments that were cut in the middle of an ID name the one that they are of', () => {
  const ids = ['a', 'b'].map((end) => `${'c'.repeat(120)}${end}`)
  const [one = mine, other = mine] = ids.map((id, i) => element('net1', id, `10.9.0.${i + 2}`))
  const both: SeenMasquerade = { elements: new Map([one, other]), served: new Set() }
  const ofOne = { network: 'net1', containerID: ids[0] ?? '', ifname: 'eth0' }
  expect(elementsNamed(both, ofOne)).toEqual([one[0]])
  expect(elementsBut(both, 'net1', [ofOne])).toEqual([other[0]])
})

test('the elements of a network that belong to no valid attachment: never those of another network', () => {
  expect(elementsBut(seen, 'net1', [attachment])).toEqual([next[0], alien[0]])
  expect(elementsBut(seen, 'net1', [])).toEqual([mine[0], mine6[0], next[0], alien[0]])
})

test.each([
  ['10.9.0.2/24', '10.9.0.2'],
  ['fd00:9::2/64', 'fd00:9::2'],
  ['10.9.0.2', '10.9.0.2'],
])('%s without its prefix length is %s', (text, want) => {
  expect(withoutPrefix(text)).toBe(want)
})
