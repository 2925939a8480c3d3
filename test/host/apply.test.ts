import { expect, test, vi } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { planAdd } from '../../src/core/plan.ts'
import type { Resource } from '../../src/core/resource.ts'
import { apply } from '../../src/host/apply.ts'
import { readLinks } from '../../src/host/ip-json.ts'
import { startNft } from '../../src/host/nft.ts'
import { openSession } from '../../src/host/session.ts'
import { attachment, cidr, ip, seen } from '../core/seen.ts'
import {
  type Expected,
  failures,
  followScripts,
  IP,
  inside,
  type Line,
  NFT,
  printed,
  script,
  written,
} from './scripted.ts'

vi.mock('#engine', async () => (await import('./scripted.ts')).engine)
followScripts()

const veth: Resource = {
  kind: 'veth',
  host: 'veth1',
  ifname: 'eth0',
  hostMac: '02:00:00:00:00:02',
  mac: '02:00:00:00:00:03',
  mtu: 0,
  label: 'pontoon:net1/c1/eth0',
  netns: '/proc/7/fd/5',
}
const bridge: Resource = { kind: 'bridge', name: 'cni0', mac: '02:00:00:00:00:01', mtu: 0, promisc: false }
const forwarding: Resource = { kind: 'sysctl', key: 'net/ipv4/ip_forward', value: '1' }
const gateway: Resource = { kind: 'gateway', bridge: 'cni0', cidr: cidr('10.9.0.1/24'), force: false }
const port: Resource = { kind: 'port', host: 'veth1', bridge: 'cni0', hairpin: false, isolated: false }
const link: Resource = { kind: 'link', ifname: 'eth0', host: 'veth1', mac: '02:00:00:00:00:03', mtu: 0 }
const address: Resource = { kind: 'address', ifname: 'eth0', cidr: cidr('10.9.0.2/24'), dad: false }
const masquerade: Resource = {
  kind: 'masquerade',
  address: ip('10.9.0.2'),
  subnet: cidr('10.9.0.0/24'),
  attachment,
  inet: true,
}
const all = [veth, bridge, forwarding, gateway, port, link, address, masquerade]

const LINK =
  'link add name veth1 address 02:00:00:00:00:02 type veth peer name eth0 address 02:00:00:00:00:03 netns /proc/7/fd/5'
const ALIAS = 'link set dev veth1 alias pontoon:net1/c1/eth0'
const ELEMENT =
  'add element inet cni_plugins_masquerade pods-net1-10.9.0.0/24 ' +
  '{ 10.9.0.2 comment "451fbda28a818902, net: net1, if: eth0, id: c1" }'
const PROC = '/proc/sys/net/ipv4/ip_forward'
const ACCEPT_RA = '/proc/sys/net/ipv6/conf/cni0/accept_ra'

const seenBridge = printed({
  ifindex: 2,
  ifname: 'cni0',
  flags: ['UP'],
  operstate: 'UP',
  linkinfo: { info_kind: 'bridge' },
  addr_info: [{ local: '10.9.0.1', prefixlen: 24 }],
})
const seenVeth = printed({
  ifindex: 3,
  ifname: 'veth1',
  flags: ['UP'],
  operstate: 'UP',
  master: 'cni0',
  linkinfo: { info_kind: 'veth', info_slave_data: { state: 'forwarding' } },
})
const seenPod = (...addresses: string[]) =>
  printed({
    ifindex: 2,
    ifname: 'eth0',
    flags: ['UP'],
    addr_info: addresses.map((local) => ({ local, prefixlen: 64 })),
  })

/** What the host's `ip` is told, until the end of all lines. */
const hostLines: Line[] = [
  {
    told: `${LINK}\n${ALIAS}\nlink add name cni0 address 02:00:00:00:00:01 type bridge\naddr show dev cni0\n`,
    prints: [seenBridge],
  },
  { told: 'link set dev cni0 up\naddr show dev cni0\n', prints: [seenBridge] },
  {
    told:
      'addr add 10.9.0.1/24 dev cni0 brd +\nlink set dev veth1 master cni0 up\n' +
      'addr show dev cni0\naddr show dev veth1\n',
    prints: [seenBridge, seenVeth],
  },
]
const hostAnnounces: Line = { told: 'addr show dev veth1\n', prints: [seenVeth] }
const host = (changes: Partial<Expected> = {}): Expected => ({
  argv: IP,
  dialog: [...hostLines, hostAnnounces],
  ...changes,
})
const podLines: Line = { told: 'link set dev eth0 up\naddr add 10.9.0.2/24 dev eth0 brd +\n' }
const podAnnounces: Line = { told: 'neigh replace 10.9.0.2 dev eth0 use\n' }
const sandbox = (changes: Partial<Expected> = {}): Expected => ({
  argv: inside(...IP),
  dialog: [podLines, podAnnounces],
  ...changes,
})
const nft = (changes: Partial<Expected> = {}): Expected => ({
  argv: NFT,
  dialog: [{ told: `${ELEMENT}\n` }],
  ...changes,
})
/** An nft that is ended without having been told anything. */
const untold = nft({ dialog: [] })

const pod = { netns: '/proc/7/fd/5', ifname: 'eth0', mac: '02:00:00:00:00:03', addresses: [ip('10.9.0.2')], dad: false }

async function run(resources: readonly Resource[] = all, changes: Partial<typeof pod> = {}) {
  const plan = planAdd(resources, seen())
  if (!plan.ok) throw new Error('a bare host has no conflicts')
  const hands = {
    host: openSession(),
    sandbox: openSession('/proc/7/fd/5'),
    nft: resources.includes(masquerade) ? startNft() : undefined,
  }
  return apply(plan.steps, hands, { bridge: 'cni0', hostVeth: 'veth1' }, { ...pod, ...changes })
}

test('all goes well: the pair first, the sandbox when it is made, then the neighbours are told', async () => {
  script(host(), sandbox(), nft())
  const links = await run()
  expect([...links.keys()]).toEqual(['cni0', 'veth1'])
  expect(written).toEqual([`${ACCEPT_RA}=0`, `${PROC}=1`])
})

const failed = (number: number, text: string) => ({ status: 1, stderr: `${text}\nCommand failed -:${number}\n` })

const besideBridge = [veth, port, link, address]
const withBridge = (shown: string, ...more: Line[]) => ({
  argv: IP,
  dialog: [
    { told: `${LINK}\n${ALIAS}\nlink set dev veth1 master cni0 up\naddr show dev veth1\n`, prints: [shown] },
    ...more,
  ],
})

async function runWithBridge() {
  const known = { ...seen(), host: readLinks([JSON.parse(seenBridge)]) }
  const plan = planAdd(besideBridge, known)
  if (!plan.ok) throw new Error('nothing is in the way')
  const hands = { host: openSession(), sandbox: openSession('/proc/7/fd/5'), nft: undefined }
  return apply(plan.steps, hands, { bridge: 'cni0', hostVeth: 'veth1', seen: known.host.get('cni0') }, pod)
}

test('a bridge that is as it should be is not looked at again', async () => {
  script(withBridge(seenVeth, hostAnnounces), sandbox())
  expect([...(await runWithBridge()).keys()]).toEqual(['veth1', 'cni0'])
})

test('when it has gone meanwhile, the pair is no port, and nothing else is done', async () => {
  const alone = printed({ ...JSON.parse(seenVeth)[0], master: undefined })
  const gone = failed(3, 'Error: argument "cni0" is wrong: Device does not exist')
  script({ ...withBridge(alone), exit: gone }, sandbox({ dialog: [] }))
  await expect(runWithBridge()).rejects.toThrow("can't make port veth1")
})

test('without masquerade there is no nft', async () => {
  script(host(), sandbox())
  await run(all.slice(0, -1))
})

const withoutVeth: Line[] = [
  ...hostLines.slice(0, 2),
  {
    ...(hostLines[2] as Line),
    prints: [seenBridge],
    complains: 'Device "veth1" does not exist.\nCommand failed -:9\n',
  },
]

interface Failure {
  name: string
  script: Expected[]
  code: number
  message: string
  details?: string
}

const failing: Failure[] = [
  {
    name: 'the pair can not be made: nothing else is touched',
    script: [
      host({
        dialog: withoutVeth,
        exit: failed(1, 'RTNETLINK answers: Operation not permitted'),
      }),
      sandbox({ dialog: [] }),
      untold,
    ],
    code: CODE.kernel,
    message: "can't make veth veth1",
    details: `ip ${LINK}: RTNETLINK answers: Operation not permitted`,
  },
  {
    name: 'the container has an interface of that name',
    script: [
      host({ dialog: withoutVeth, exit: failed(1, 'RTNETLINK answers: File exists') }),
      sandbox({ dialog: [] }),
      untold,
    ],
    code: CODE.conflict,
    message: 'interface eth0 already exists in the container',
  },
  {
    name: 'the namespace is of another kind',
    script: [
      host({ dialog: withoutVeth, exit: failed(1, 'RTNETLINK answers: Invalid argument') }),
      sandbox({ dialog: [] }),
      untold,
    ],
    code: CODE.invalidEnvironment,
    message: "can't make veth veth1",
    details: 'RTNETLINK answers: Invalid argument; is CNI_NETNS a network namespace?',
  },
  {
    name: 'the port can not be added',
    script: [host({ exit: failed(8, 'RTNETLINK answers: Exchange full') }), sandbox(), nft()],
    code: CODE.kernel,
    message: "can't make port veth1",
    details: 'ip link set dev veth1 master cni0 up: RTNETLINK answers: Exchange full',
  },
  {
    name: 'a line in the sandbox fails',
    script: [host(), sandbox({ exit: failed(2, 'Error: Nexthop is bad.') }), nft()],
    code: CODE.kernel,
    message: "can't make address 10.9.0.2/24 on eth0",
    details: 'ip addr add 10.9.0.2/24 dev eth0 brd +: Nexthop is bad.',
  },
  {
    name: 'ip does not end in time, which is no fault of anything that was to be made',
    script: [host(), sandbox({ exit: { status: 137, timedOut: true } }), nft()],
    code: CODE.tryAgain,
    message: 'ip ended before its time',
    details: 'it did not end within 25 s and was killed',
  },
  {
    name: 'the host and the sandbox fail: the first one is told',
    script: [
      host({ exit: failed(8, 'RTNETLINK answers: Exchange full') }),
      sandbox({ exit: failed(1, 'Cannot find device "eth0"') }),
      nft(),
    ],
    code: CODE.kernel,
    message: "can't make port veth1",
  },
  {
    name: 'nsenter can not enter',
    script: [host(), sandbox({ exit: { status: 1, stderr: 'nsenter: cannot open\n' } }), nft()],
    code: CODE.kernel,
    message: 'ip failed',
    details: 'nsenter: cannot open',
  },
  {
    name: 'nft refuses: the links come to their end',
    script: [host(), sandbox(), nft({ exit: { status: 1, stderr: 'x: Error: Operation not permitted\n' } })],
    code: CODE.kernel,
    message: 'nft: Operation not permitted',
  },
  {
    name: 'links and nft fail: the links are told, everything has ended',
    script: [
      host(),
      sandbox({ exit: failed(1, 'Cannot find device "eth0"') }),
      nft({ exit: { status: 1, stderr: 'x: Error: Operation not permitted\n' } }),
    ],
    code: CODE.kernel,
    message: "can't make interface eth0",
  },
  {
    name: 'ip is something else',
    script: [
      host({ dialog: [{ ...(hostLines[0] as Line), prints: ['BusyBox v1.36\n'] }] }),
      sandbox({ dialog: [] }),
      untold,
    ],
    code: CODE.tool,
    message: 'ip printed no JSON',
  },
]

test.each(failing)('$name', async ({ script: programs, name: _, ...fault }) => {
  script(...programs)
  await expect(run()).rejects.toThrow(expect.objectContaining(fault))
})

test.each([
  [
    'ENOENT',
    'the kernel has no such setting: for IPv6, boot without ipv6.disable=1, or give the network no IPv6 range',
  ],
  ['EROFS', 'EROFS: /proc/sys is not for writing here; run "sysctl -w net.ipv4.ip_forward=1" on the node'],
])('a sysctl that can not be written for %s is told, and everything ends', async (code, details) => {
  failures.set(PROC, code)
  script(host({ dialog: hostLines.slice(0, 2) }), sandbox({ dialog: [] }), untold)
  await expect(run()).rejects.toThrow(
    expect.objectContaining({ code: CODE.kernel, message: "can't set net.ipv4.ip_forward to 1", details }),
  )
})

test('a sysctl that is only wished for may be missing', async () => {
  failures.set(ACCEPT_RA, 'ENOENT')
  script(host(), sandbox(), nft())
  await run()
  expect(written).toEqual([`${PROC}=1`])
})

test('another ADD made the bridge and its address meanwhile: what counts is that they are there', async () => {
  const stderr = [3, 7].map((line) => `RTNETLINK answers: File exists\nCommand failed -:${line}\n`).join('')
  script(host({ exit: { status: 1, stderr } }), sandbox(), nft())
  await run()
})

test('a shared line failed, and what it was to make is not there', async () => {
  const bare = seenBridge.replace('10.9.0.1', '10.8.0.1')
  const last = { ...(hostLines[2] as Line), prints: [bare, seenVeth] }
  script(
    host({
      dialog: [...hostLines.slice(0, 2), last, hostAnnounces],
      exit: failed(7, 'RTNETLINK answers: No buffer space available'),
    }),
    sandbox(),
    nft(),
  )
  await expect(run()).rejects.toThrow("can't make gateway 10.9.0.1/24 on cni0")
})

const address6: Resource = { kind: 'address', ifname: 'eth0', cidr: cidr('fd00:9::2/64'), dad: false }
const dual = { addresses: [ip('10.9.0.2'), ip('fd00:9::2')] }
const few = [veth, link, address, address6]
const hostOfFew: Expected = {
  argv: IP,
  dialog: [
    { told: `${LINK}\n${ALIAS}\naddr show dev cni0\naddr show dev veth1\n`, prints: [seenBridge, seenVeth] },
    hostAnnounces,
  ],
}
const lines6 = 'link set dev eth0 up\naddr add 10.9.0.2/24 dev eth0 brd +\naddr add fd00:9::2/64 dev eth0 nodad\n'
const announces6: Line = {
  told: 'neigh replace 10.9.0.2 dev eth0 use\nlink set dev eth0 address 02:00:00:00:00:03\n',
}
const tee = (setting: string, value: string): Expected => ({
  argv: inside('/usr/sbin/tee', `/proc/sys/net/ipv6/conf/eth0/${setting}`),
  dialog: [{ told: value }],
})

test('IPv6 in the sandbox', async () => {
  script(
    hostOfFew,
    {
      argv: inside(...IP),
      dialog: [{ told: `${lines6}addr show dev eth0\n`, prints: [seenPod('10.9.0.2', 'fd00:9::2')] }, announces6],
    },
    tee('ndisc_notify', '1'),
  )
  await run(few, dual)
})

const switchedOff: Line[] = [
  {
    told: `${lines6}addr show dev eth0\n`,
    prints: [seenPod('10.9.0.2')],
    complains: 'RTNETLINK answers: Permission denied\nCommand failed -:3\n',
  },
  { told: 'addr add fd00:9::2/64 dev eth0 nodad\n' },
  announces6,
]

test('a sandbox with IPv6 switched off: it is switched on for this interface, and the lines run again', async () => {
  script(
    hostOfFew,
    { argv: inside(...IP), dialog: switchedOff, exit: { status: 1 } },
    tee('disable_ipv6', '0'),
    tee('ndisc_notify', '1'),
  )
  await run(few, dual)
})

test('a sandbox without IPv6: the second failure counts', async () => {
  const again = { ...(switchedOff[1] as Line), complains: 'RTNETLINK answers: Permission denied\nCommand failed -:5\n' }
  script(
    hostOfFew,
    { argv: inside(...IP), dialog: [switchedOff[0] as Line, again, announces6], exit: { status: 1 } },
    tee('disable_ipv6', '0'),
    tee('ndisc_notify', '1'),
  )
  await expect(run(few, dual)).rejects.toThrow("can't make address fd00:9::2/64 on eth0")
})

const vlan: Resource = { kind: 'vlan', port: 'veth1', vlan: 100, trunk: [], keepsDefault: true }
const HOST_PORT = 'link set dev veth1 master cni0 up\naddr show dev cni0\n'

/** A port in a VLAN; `bridge` is what bridge(8) does. */
async function runInVlan(vlans: Partial<Expected>) {
  const told = 'vlan add dev veth1 vid 100 pvid untagged\nvlan show dev veth1\n'
  script(
    {
      argv: IP,
      dialog: [
        { told: `${LINK}\n${ALIAS}\n${HOST_PORT}`, prints: [seenBridge] },
        { told: 'addr show dev cni0\naddr show dev veth1\n', prints: [seenBridge, seenVeth] },
        hostAnnounces,
      ],
    },
    sandbox(),
    {
      argv: ['/usr/sbin/bridge', '-force', '-compressvlans', '-json', '-batch', '-'],
      dialog: [{ told, prints: [printed({ ifname: 'veth1', vlans: [{ vlan: 100 }] })] }],
      ...vlans,
    },
  )
  const plan = planAdd([veth, port, vlan, link, address], seen())
  if (!plan.ok) throw new Error('a bare host has no conflicts')
  const hands = {
    host: openSession(),
    sandbox: openSession('/proc/7/fd/5'),
    vlans: openSession(undefined, 'bridge'),
    nft: undefined,
  }
  return apply(plan.steps, hands, { bridge: 'cni0', hostVeth: 'veth1' }, pod)
}

test('VLANs are given to a port once it is one', async () => {
  await runInVlan({})
})

test('VLANs that can not be given are told', async () => {
  await expect(runInVlan({ exit: failed(1, 'RTNETLINK answers: Operation not supported') })).rejects.toThrow(
    expect.objectContaining({
      code: CODE.kernel,
      message: "can't make VLANs of veth1: the kernel has no VLAN filtering for bridges",
    }),
  )
})
