import { expect, test } from 'vitest'
import { examine } from '../../src/commands/doctor/checks.ts'
import type { Facts, NetworkFacts } from '../../src/commands/doctor/facts.ts'
import { foldersIn } from '../../src/commands/doctor/plugins.ts'
import { refusalsIn, savedRefusal } from '../../src/commands/doctor/refusals.ts'
import { doctorText } from '../../src/commands/doctor/report.ts'
import { holderIn } from '../../src/commands/doctor/xtables-lock.ts'
import { usage } from '../../src/commands/leases/rows.ts'
import { parseConfFile } from '../../src/commands/networks.ts'
import { plain } from '../../src/commands/text.ts'
import { type FilterChain, letsThrough, parseFilters, parseSavedFilter } from '../../src/core/filters.ts'
import { parseRangeSets } from '../../src/core/ranges.ts'
import { links } from '../core/seen.ts'

function networkFacts(name: string, subnet: string, keys: Partial<NetworkFacts> = {}, conf: object = {}): NetworkFacts {
  const text = JSON.stringify({
    cniVersion: '1.0.0',
    name,
    plugins: [{ type: 'pontoon', bridge: `br-${name}`, isGateway: true, ipam: { subnet }, ...conf }],
  })
  const network = parseConfFile(`/etc/cni/net.d/10-${name}.conflist`, text, new Set(['pontoon'])).networks[0]
  if (!network) throw new Error('no network')
  const sets = parseRangeSets([[{ subnet }]])
  return {
    network,
    sets,
    known: [],
    rows: [],
    ranges: usage(sets, []),
    repairs: { steps: [], obstacles: [] },
    cutOff: [],
    inside: [],
    byMac: new Map(),
    dead: [],
    orphans: [],
    isQuiet: true,
    lock: undefined,
    storeProblem: undefined,
    indexProblem: undefined,
    notForwarding: [],
    ...keys,
  }
}

const facts = (keys: Partial<Facts> = {}): Facts => ({
  command: 'pontoon',
  now: 1_000_000,
  engine: 'node 24',
  kernel: '6.1',
  isPrivileged: true,
  installer: 'dnf install -y',
  tools: [],
  plugins: [],
  version: 'pontoon 2',
  xtables: undefined,
  routes: [],
  conntrack: undefined,
  folder: '',
  nftProblem: '',
  links: new Map(),
  uplink: undefined,
  bridgeFilter: undefined,
  hasKubeProxy: false,
  forwarding: [],
  files: [],
  networks: [networkFacts('a', '10.1.0.0/24')],
  strays: [],
  unreadable: [],
  ...keys,
})
const drops: FilterChain = { by: 'iptables', families: [4], target: 'ip filter FORWARD', drops: true, accepts: [] }

const cases: readonly { name: string; facts: Partial<Facts>; want: readonly [string, string][] }[] = [
  { name: 'a node that is well', facts: {}, want: [] },
  {
    name: 'a tool that is missing',
    facts: { tools: [{ tool: 'nft', package: 'nftables', path: undefined, version: '', neededBy: ['a'] }] },
    want: [['tool-missing', 'dnf install -y nftables']],
  },
  {
    name: 'a tool that is missing, but that nobody needs',
    facts: { tools: [{ tool: 'nft', package: 'nftables', path: undefined, version: '', neededBy: [] }] },
    want: [],
  },
  { name: 'a process without rights', facts: { isPrivileged: false }, want: [['rights', 'sudo pontoon doctor']] },
  {
    name: 'an nft that the kernel does not know',
    facts: { nftProblem: 'Operation not supported' },
    want: [['kernel-nftables', 'modprobe -a nf_tables nft_chain_nat nft_masq']],
  },
  {
    name: 'kube-proxy without br_netfilter',
    facts: { hasKubeProxy: true },
    want: [['br-netfilter', 'modprobe br_netfilter && sysctl -w net.bridge.bridge-nf-call-iptables=1']],
  },
  { name: 'kube-proxy with br_netfilter', facts: { hasKubeProxy: true, bridgeFilter: true }, want: [] },
  {
    name: 'a chain that drops',
    facts: { forwarding: [drops] },
    want: [['forward-drop', 'iptables -I FORWARD -i br-a -j ACCEPT && iptables -I FORWARD -o br-a -j ACCEPT']],
  },
  {
    name: 'a chain that drops, with a rule for the bridge',
    facts: { forwarding: [{ ...drops, accepts: ['-A FORWARD -i br-a -j ACCEPT'] }] },
    want: [],
  },
  {
    name: 'a chain that drops, with a rule for another bridge',
    facts: { forwarding: [{ ...drops, accepts: ['-A FORWARD -i br-a2 -j ACCEPT'] }] },
    want: [['forward-drop', 'iptables -I FORWARD -i br-a -j ACCEPT && iptables -I FORWARD -o br-a -j ACCEPT']],
  },
  { name: 'a chain of the other family', facts: { forwarding: [{ ...drops, families: [6] }] }, want: [] },
  {
    name: 'a bridge that can’t tell VLANs apart',
    facts: {
      links: links({ 'br-a': { type: 'bridge', vlanFiltering: 'off' } }),
      networks: [networkFacts('a', '10.1.0.0/24', {}, { vlan: 7 })],
    },
    want: [['bridge-vlans', 'ip link set dev br-a type bridge vlan_filtering 1']],
  },
  {
    name: 'a kernel without VLANs',
    facts: {
      links: links({ 'br-a': { type: 'bridge', vlanFiltering: 'unknown to the kernel' } }),
      networks: [networkFacts('a', '10.1.0.0/24', {}, { vlan: 7 })],
    },
    want: [['kernel-vlans', 'grep BRIDGE_VLAN_FILTERING /boot/config-*  # then boot a kernel that says y']],
  },
  {
    name: 'a store that can’t be written',
    facts: {
      networks: [networkFacts('a', '10.1.0.0/24', { storeProblem: { what: 'is full', fix: 'df -h /var/lib' } })],
    },
    want: [['store-unusable', 'df -h /var/lib']],
  },
  {
    name: 'a table of connections that is full',
    facts: { conntrack: { count: 1000, max: 1000 } },
    want: [['conntrack-full', 'sysctl -w net.netfilter.nf_conntrack_max=2000']],
  },
  { name: 'a table of connections with room', facts: { conntrack: { count: 800, max: 1000 } }, want: [] },
  {
    name: 'routes beside the network, around it, and by its own bridge',
    facts: {
      routes: [
        { destination: '10.1.1.0/24', device: 'wg0' },
        { destination: '10.0.0.0/8', device: 'wg0' },
        { destination: '10.1.0.0/24', device: 'br-a' },
        { destination: '10.1.0.7/32', device: 'br-a.7' },
      ],
    },
    want: [],
  },
  {
    name: 'a route that takes the network away',
    facts: { routes: [{ destination: '10.1.0.0/24', device: 'wg0' }] },
    want: [['route-elsewhere', 'ip route del 10.1.0.0/24 dev wg0']],
  },
  {
    name: 'a lock of iptables that a process of another PID namespace holds',
    facts: { xtables: { path: '/run/xtables.lock', pid: 0, command: '' } },
    want: [['xtables-lock', 'lsof /run/xtables.lock']],
  },
  {
    name: 'a plugin that is nowhere, one that is there, another Pontoon',
    facts: {
      plugins: [
        { type: 'bridge', neededBy: ['a'], paths: [], versions: new Map() },
        { type: 'portmap', neededBy: ['a'], paths: [], versions: new Map() },
        { type: 'tuning', neededBy: ['a'], paths: ['/opt/cni/bin/tuning'], versions: new Map() },
        {
          type: 'pontoon',
          neededBy: ['a'],
          paths: ['/opt/cni/bin/pontoon'],
          versions: new Map([['/opt/cni/bin/pontoon', 'pontoon 1']]),
        },
      ],
    },
    want: [
      ['plugin-missing', 'pontoon install --as bridge,host-local'],
      ['plugin-missing', 'dnf install -y containernetworking-plugins'],
      ['plugin-other', 'pontoon install --dir /opt/cni/bin'],
    ],
  },
  {
    name: 'no network, and files that were named',
    facts: { networks: [], folder: '' },
    want: [],
  },
  {
    name: 'a range that is nearly full',
    facts: {
      networks: [
        networkFacts('a', '10.1.0.0/24', {
          ranges: [{ set: 0, range: '10.1.0.1-10.1.0.254', subnet: '10.1.0.0/24', capacity: 253, used: 240 }],
        }),
      ],
    },
    want: [['range-nearly-full', 'vi /etc/cni/net.d/10-a.conflist  # more ranges']],
  },
]

test.each(cases)('$name', ({ facts: keys, want }) => {
  expect(examine(facts(keys)).map(({ check, fix }) => [check, fix])).toEqual(want)
})

test('a network that overlaps another is told once, for the later one', () => {
  const networks = [networkFacts('a', '10.1.0.0/16'), networkFacts('b', '10.1.7.0/24')]
  expect(examine(facts({ networks }))).toMatchObject([{ check: 'subnet-overlap', network: 'b' }])
})

test('an uplink that takes less is told for each network, a bridge that several share once', () => {
  const networks = [
    networkFacts('a', '10.1.0.0/24'),
    networkFacts('b', '10.2.0.0/24'),
    networkFacts('c', '10.3.0.0/24', {}, { bridge: 'br-a' }),
  ]
  const found = examine(facts({ networks, links: links({ wan: { mtu: 1400 } }), uplink: 'wan' }))
  expect(found.map(({ check, network }) => `${network} ${check}`)).toEqual(['a mtu', 'b mtu'])
})

test('a network without a gateway has no outside to lose', () => {
  const networks = [networkFacts('l2', '10.1.0.0/24', {}, { isGateway: false })]
  const [found] = examine(facts({ networks, forwarding: [drops], bridgeFilter: true }))
  expect(found).toMatchObject({ check: 'forward-drop', why: expect.not.stringContaining('outside') })
})

test('every finding says what, why and how, in words that fit a line each', () => {
  const findings = examine(facts({ forwarding: [drops], isPrivileged: false, hasKubeProxy: true }))
  for (const { what, why, fix } of findings) {
    for (const text of [what, why, fix]) expect(text).toMatch(/^[^\n]{5,200}$/)
  }
  expect(doctorText(facts(), findings, [], { paint: plain })).toContain(
    'ERROR a: the chain FORWARD of iptables drops, and no rule accepts br-a  [forward-drop]',
  )
})

test('what iptables-save prints: the policy, and the rules that accept', () => {
  const text = '*filter\n:FORWARD DROP [0:0]\n-A FORWARD -s 10.1.0.0/24 -j ACCEPT\n-A FORWARD -j LOG\nCOMMIT\n'
  const [chain] = parseSavedFilter(4, text)
  expect(chain).toMatchObject({ drops: true, accepts: ['-A FORWARD -s 10.1.0.0/24 -j ACCEPT'] })
  expect(chain && letsThrough(chain, ['10.1.0.0/24'])).toBe(true)
  expect(chain && letsThrough(chain, ['10.1.0.0'])).toBe(true)
  expect(chain && letsThrough(chain, ['1.0.0', '10.1.0.0/2'])).toBe(false)
})

test('what nft lists: base chains at the hook, with the rules of their own table', () => {
  const text = JSON.stringify({
    nftables: [
      { chain: { family: 'inet', table: 'fw', name: 'f', hook: 'forward', policy: 'drop' } },
      { chain: { family: 'inet', table: 'fw', name: 'i', hook: 'input', policy: 'drop' } },
      { rule: { family: 'inet', table: 'fw', expr: [{ match: { right: 'br-a' } }, { accept: null }] } },
      { rule: { family: 'ip', table: 'fw', expr: [{ match: { right: 'br-b' } }, { accept: null }] } },
    ],
  })
  const [chain, ...others] = parseFilters(text)
  expect(others).toEqual([])
  expect(chain).toMatchObject({ by: 'nft', families: [4, 6], target: 'inet fw f', drops: true })
  expect(chain && letsThrough(chain, ['br-a'])).toBe(true)
  expect(chain && letsThrough(chain, ['br-b'])).toBe(false)
})

test('what /proc/locks has: the holder of this very file, not who waits for it', () => {
  const file = { device: 0x1a, inode: 42 }
  const text = `1: POSIX  ADVISORY  WRITE 7 00:1a:42 0 EOF
2: FLOCK  ADVISORY  WRITE 8 00:1b:42 0 EOF
3: -> FLOCK  ADVISORY  WRITE 9 00:1a:42 0 EOF
4: FLOCK  ADVISORY  WRITE 10 00:1a:42 0 EOF
`
  expect(holderIn(text, file)).toBe(10)
  expect(holderIn(text, { ...file, inode: 43 })).toBeUndefined()
  expect(holderIn('1: FLOCK  ADVISORY  WRITE 5 103:02:7 0 EOF', { device: 0x103 * 256 + 2, inode: 7 })).toBe(5)
  expect(holderIn('1: FLOCK  ADVISORY  WRITE -1 00:1a:42 0 EOF', file)).toBe(0)
})

test('folders of plugins in the configurations of runtimes', () => {
  const text = `  bin_dir = "/opt/a"\n  #bin_dir = "/opt/b"\n bin_dirs = ['/opt/c', "/opt/d"]\nplugin_dirs = [\n  "/opt/e",\n]\n conf_dir = "/f"`
  expect(foldersIn(text)).toEqual(['/opt/a', '/opt/c', '/opt/d', '/opt/e'])
})

test('a chain that refuses in its last rule drops, unless that rule asks something', () => {
  const tail = (rule: string) => savedRefusal(4, `*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -i x -j ACCEPT\n${rule}\n`)
  expect(tail('-A FORWARD -j REJECT --reject-with icmp-port-unreachable')).toMatchObject([{ drops: true }])
  expect(tail('-A FORWARD -d 10.0.0.0/8 -j REJECT')).toEqual([])
  const base = { family: 'inet', table: 'fw', chain: 'f' }
  const listed = (...rules: readonly object[][]) =>
    refusalsIn(
      JSON.stringify({
        nftables: [
          { chain: { family: 'inet', table: 'fw', name: 'f', hook: 'forward' } },
          ...rules.map((expr) => ({ rule: { ...base, expr } })),
        ],
      }),
    )
  const dispatch = [{ match: { right: 'br-a' } }, { goto: { target: 'zone' } }]
  const [chain] = listed(dispatch, [{ reject: null }])
  expect(chain).toMatchObject({ by: 'nft', target: 'inet fw f', drops: true })
  expect(chain && letsThrough(chain, ['br-a'])).toBe(true)
  expect(listed(dispatch, [{ match: { right: 'br-b' } }, { drop: null }])).toEqual([])
  expect(listed([{ reject: null }], dispatch)).toEqual([])
})

test('a range of IPv6 is counted by nobody', () => {
  const ranges = [{ set: 0, range: 'fd00::1-fd00::ffff', subnet: 'fd00::/64', capacity: 2 ** 64, used: 2 }]
  const text = doctorText(facts({ networks: [networkFacts('a', 'fd00::/64', { ranges })] }), [], [], { paint: plain })
  expect(text).toContain(' 2/many  ok')
})
