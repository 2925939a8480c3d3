import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLinks, readVlans } from '../../src/host/ip-json.ts'
import { parseMasquerade } from '../../src/host/nft-json.ts'

const recorded = (name: string): string => readFileSync(join(import.meta.dirname, '../fixtures/tools', name), 'utf8')
/** One document a line, as a batch prints them. */
const documents = (name: string): readonly unknown[] =>
  recorded(name)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('VLANs of ports: ranges, the one of what comes untagged, none', () => {
  expect([...readVlans(documents('vlans_iproute2-6.1.0.txt'))]).toEqual([
    [
      'veth9',
      [
        { min: 1, max: 1, pvid: false, untagged: true },
        { min: 100, max: 100, pvid: true, untagged: true },
      ],
    ],
    [
      'veth1',
      [
        { min: 100, max: 199, pvid: false, untagged: false },
        { min: 300, max: 300, pvid: false, untagged: false },
      ],
    ],
  ])
})

const links = readLinks(documents('vlan-host_iproute2-6.1.0.txt'))

test('whether a bridge tells VLANs apart', () => {
  expect(links.get('cni0')?.vlanFiltering).toBe('on')
  expect(links.get('cni1')?.vlanFiltering).toBe('off')
  expect(links.get('veth9')?.vlanFiltering).toBeUndefined()
  // Recorded on a kernel without VLANs.
  expect(readLinks(documents('host_iproute2-6.1.0.txt')).get('cni0')?.vlanFiltering).toBe('unknown to the kernel')
})

test('the ends of a pair in one namespace know each other by name, the port one index below', () => {
  const [device, port] = [links.get('cni0.100'), links.get('veth9')]
  expect([device?.peerName, port?.peerName, port?.master]).toEqual(['veth9', 'cni0.100', 'cni0'])
  expect(port?.index).toBe((device?.index ?? 0) - 1)
})

test("elements of Pontoon's own tables, and the sets that rules look into", () => {
  const owner = '0123456789abcdef, net: net1, if: eth0, id: c1'
  const read = (family: string) =>
    parseMasquerade(JSON.parse(recorded(`pontoon-${family}_nftables-1.0.6.json`)).nftables)
  expect(read('bridge')).toEqual({
    elements: new Map([
      ['bridge pontoon guarded_ports veth1', owner],
      ['bridge pontoon guarded_macs veth1 . 02:00:00:00:00:03', owner],
    ]),
    served: new Set(['bridge pontoon guarded_ports', 'bridge pontoon guarded_macs']),
    idle: new Set(),
  })
  expect(read('inet')).toEqual({
    elements: new Map([['inet pontoon vlan_gateways cni0 . 02:00:00:00:00:09', 'cni0.100']]),
    served: new Set(['inet pontoon vlan_gateways']),
    idle: new Set(),
  })
})
