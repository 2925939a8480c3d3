import { describe, expect, test } from 'vitest'
import { plain } from '../../src/commands/text.ts'
import type { NetworkNode, PortNode, Topology } from '../../src/commands/topology/model.ts'
import { svgText } from '../../src/commands/topology/svg.ts'
import { dotText, mermaidText, treeText } from '../../src/commands/topology/text.ts'

const pod = (owner: string, name: string, addresses: string[], keys: Partial<PortNode> = {}): PortNode => ({
  name,
  state: 'up',
  vlans: '',
  owner,
  kind: 'pod',
  ifname: 'eth0',
  netns: `/run/netns/${name}`,
  addresses,
  masqueraded: true,
  ...keys,
})
const network = (name: string, keys: Partial<NetworkNode>): NetworkNode => ({
  name,
  bridge: 'cni0',
  state: 'up',
  mtu: 1500,
  subnets: ['10.22.0.0/24', 'fd00:22::/64'],
  gateways: ['10.22.0.1/24', 'fd00:22::1/64'],
  gatewayDevice: 'cni0',
  masquerade: 'nftables',
  routed: true,
  ports: [],
  ...keys,
})
const sample: Topology = {
  node: 'node-1',
  uplink: 'ens3',
  networks: [
    network('pods', {
      ports: [
        pod('shop/web-6f7c-x2x9z', 'veth0a1b2c3d4e5', ['10.22.0.2/24', 'fd00:22::2/64']),
        pod('shop/db-0', 'veth99aabbccdde', ['10.22.0.3/24', 'fd00:22::3/64'], { state: 'down' }),
        pod('a'.repeat(64), 'veth00112233445', ['10.22.0.4/24', 'fd00:22::4/64']),
      ],
    }),
    network('storage', {
      bridge: 'br-store',
      subnets: ['192.168.7.0/24'],
      gateways: ['192.168.7.1/24'],
      gatewayDevice: 'br-store.70',
      masquerade: '',
      ports: [
        pod('shop/db-0', 'veth55667788990', ['192.168.7.2/24'], { vlans: '70', ifname: 'net1' }),
        pod('', 'veth-gw', [], { kind: 'other', owner: 'gateway br-store.70', vlans: '70', ifname: '' }),
      ],
    }),
    network('lab "<&>"', { bridge: 'br-lab', state: 'absent', gateways: [], ports: [] }),
  ],
}

test('the tree: networks, bridges, ports, pods', () => {
  expect(treeText(sample, plain)).toBe(`node-1, uplink ens3
├─ network pods  10.22.0.0/24, fd00:22::/64  NAT by nftables
│  └─ bridge cni0 (up, gateway 10.22.0.1/24, fd00:22::1/64)
│     ├─ port veth0a1b2c3d4e5 (up)
│     │  └─ pod shop/web-6f7c-x2x9z  eth0  10.22.0.2/24, fd00:22::2/64
│     ├─ port veth99aabbccdde (down)
│     │  └─ pod shop/db-0  eth0  10.22.0.3/24, fd00:22::3/64
│     └─ port veth00112233445 (up)
│        └─ pod aaaaaaaaaaaaa  eth0  10.22.0.4/24, fd00:22::4/64
├─ network storage  192.168.7.0/24  routed, no NAT
│  └─ bridge br-store (up, gateway 192.168.7.1/24 on br-store.70)
│     ├─ port veth55667788990 (up, VLAN 70)
│     │  └─ pod shop/db-0  net1  192.168.7.2/24
│     └─ port veth-gw (up, VLAN 70)  gateway br-store.70
└─ network lab "<&>"  10.22.0.0/24, fd00:22::/64  NAT by nftables
   └─ bridge br-lab (absent)`)
})

test('dot and Mermaid name every pod, and quote what needs it', () => {
  const dot = dotText(sample)
  expect(dot).toContain('"cni0" -> "veth0a1b2c3d4e5"')
  expect(dot).toContain('label="lab \\"<&>\\"\\n10.22.0.0/24')
  expect(dot.match(/\{/g)).toHaveLength(1)
  const mermaid = mermaidText(sample)
  expect(mermaid).toMatch(/^flowchart LR\n/)
  expect(mermaid).toContain('port0x0 --> pod0x0("shop/web-6f7c-x2x9z<br>eth0<br>10.22.0.2/24<br>fd00:22::2/64")')
  expect(mermaid).toContain('lab #quot;<&>#quot;')
})

test('the picture is well-formed, whatever the names are, and has both kinds of colours', () => {
  const svg = svgText(sample)
  expect(svg).toContain('prefers-color-scheme: dark')
  expect(svg).toContain('lab &#34;&#60;&#38;&#62;&#34;')
  expect(svg).not.toMatch(/NaN|undefined/)
  const opened = svg.match(/<[a-z]+[\s>]/g)?.length ?? 0
  const closed = (svg.match(/<\/[a-z]+>/g)?.length ?? 0) + (svg.match(/\/>/g)?.length ?? 0)
  expect(opened).toBe(closed)
  expect(svgText(sample, 'light')).not.toContain('prefers-color-scheme')
})

test('a node without networks is a picture, too', () => {
  expect(svgText({ node: 'n', uplink: '', networks: [] })).toMatch(/^<svg [\s\S]*<\/svg>$/)
  expect(treeText({ node: 'n', uplink: '', networks: [] }, plain)).toBe('n\nno network of Pontoon’s is configured')
})

test('a network that is not routed is not joined to the uplink, in no format', () => {
  const networks = [network('l2', { masquerade: '', routed: false, gateways: [] })]
  const alone = { ...sample, networks }
  expect(treeText(alone, plain)).toContain('network l2  10.22.0.0/24, fd00:22::/64  not routed')
  expect(svgText(alone)).not.toContain('<path')
  expect(dotText(alone)).not.toContain('uplink ->')
  expect(mermaidText(alone)).not.toContain('<-->')
})

describe('sixty pods', () => {
  const ports = Array.from({ length: 60 }, (_, i) =>
    pod(`production/frontend-deployment-7d4b9c6f5-x${i}`, `veth${i}`, [`10.22.0.${i}/24`, `fd00:22:1:2:3:4:5:${i}/64`]),
  )
  const svg = svgText({ ...sample, networks: [network('pods', { ports })] })
  const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg)?.map(Number) ?? []

  test('fill a page, not a ribbon', () => {
    expect(Number(height) / Number(width)).toBeLessThan(1.5)
  })

  test('stand beside each other, inside the page', () => {
    const cards = [...svg.matchAll(/<rect class="card" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g)]
    const boxes = cards.map((card) => card.slice(1).map(Number) as [number, number, number, number])
    expect(boxes).toHaveLength(60)
    for (const [i, [x, y, w, h]] of boxes.entries()) {
      expect(x + w < Number(width) && y + h < Number(height)).toBe(true)
      const isApart = boxes.slice(0, i).every(([a, b, c, d]) => x >= a + c || a >= x + w || y >= b + d || b >= y + h)
      expect(isApart).toBe(true)
    }
  })

  test('keep the ends of their names, which tell them apart', () => {
    for (let i = 0; i < 60; i++) expect(svg).toMatch(new RegExp(`class="title">production/[^<]*…[^<]*-x${i}</text>`))
    const longest = Math.max(...[...svg.matchAll(/>([^<]*)<\/text>/g)].map(([, words = '']) => words.length))
    expect(longest).toBeLessThanOrEqual(40)
  })
})
