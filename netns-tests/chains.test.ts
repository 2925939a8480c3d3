/** Chains: Pontoon first, then the plugins that runtimes put behind it, whose opinion of its result counts too. */
import { describe, expect, test } from 'vitest'
import { addAll, checkAll, delAll, type List, type Pod } from './chain.ts'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { leftovers, marksOf } from './observe.ts'
import { addressesOf, BRIDGE, NET } from './plugin.ts'
import { until } from './until.ts'

const VERSIONS = ['0.4.0', '1.0.0', '1.1.0']
const portmap = { type: 'portmap', capabilities: { portMappings: true } }
const firewall = { type: 'firewall' }
const tuning = { type: 'tuning', sysctl: { 'net.core.somaxconn': '512' }, mac: '02:11:22:33:44:55', mtu: 1400 }
const bandwidth = { type: 'bandwidth', ingressRate: 8_000_000, ingressBurst: 800_000 }
const sbr = { type: 'sbr' }
const PORTS = { portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }] }

const listOf = (cniVersion: string, ...behind: readonly Json[]): List => ({
  name: NET,
  cniVersion,
  plugins: [
    {
      type: 'pontoon',
      bridge: BRIDGE,
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: '10.9.0.0/24' }], [{ subnet: 'fd00:9::/64' }]],
        routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
      },
    },
    ...behind,
  ],
})

/** The node's own address, and somebody outside who knows no other. */
function openNode(lab: Lab): string {
  lab.netns('outside')
  lab.must('ip', 'link', 'add', 'uplink', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', 'outside')
  lab.must('ip', 'addr', 'add', '192.0.2.1/24', 'dev', 'uplink')
  lab.must('ip', 'link', 'set', 'uplink', 'up')
  lab.must('ip', '-n', 'outside', 'addr', 'add', '192.0.2.2/24', 'dev', 'eth0')
  lab.must('ip', '-n', 'outside', 'link', 'set', 'eth0', 'up')
  return '192.0.2.1'
}

const SERVE = `require('net').createServer((c) => c.end(process.argv[1])).listen(+process.argv[2], '0.0.0.0')`
const FETCH = `let text = ''
const [host, port] = process.argv.slice(1)
const socket = require('net').connect({ host, port }).on('data', (data) => (text += data))
socket.setTimeout(30_000, () => socket.destroy(new Error('nobody answers')))
socket.on('end', () => console.log(text)).on('error', (error) => { console.log(error.message); process.exit(1) })`

const inside = (netns: string | undefined, ...argv: readonly string[]) =>
  netns === undefined ? argv : ['ip', 'netns', 'exec', netns, ...argv]

async function serve(lab: Lab, netns: string, text: string, port: number): Promise<void> {
  const server = lab.background(...inside(netns, process.execPath, '-e', SERVE, text, String(port)))
  await until(() => lab.must(...inside(netns, 'cat', '/proc/net/tcp')).includes(' 0A '), server.output)
}

const fetchFrom = (lab: Lab, netns: string | undefined, host: string, port: number) =>
  lab.run(inside(netns, process.execPath, '-e', FETCH, host, String(port))).stdout.trim()

/** Nothing of the pods is left; `uplink` is the test's own. */
const rest = (lab: Lab, ...pods: readonly Pod[]) =>
  leftovers(lab, ...marksOf(...pods)).filter((left) => !/^link (uplink|eth0 in outside)$/.test(left))

forEachExecutable((executable) => {
  describe.each(VERSIONS)('version %s', (version) => {
    test('a host port reaches the pod: from outside, from the node, from another pod, and from itself', async () => {
      const lab = await openLab(executable)
      const node = openNode(lab)
      const list = listOf(version, portmap, firewall)
      const pod = addAll(lab, list, 'a', PORTS)
      const other = addAll(lab, list, 'b')
      await serve(lab, 'a', 'pod a', 80)
      expect(fetchFrom(lab, 'outside', node, 8080)).toBe('pod a')
      expect(fetchFrom(lab, undefined, node, 8080)).toBe('pod a')
      expect(fetchFrom(lab, 'b', node, 8080)).toBe('pod a')
      expect(fetchFrom(lab, 'a', node, 8080)).toBe('pod a')
      for (const one of [pod, other]) checkAll(lab, one)
      for (const one of [pod, other]) delAll(lab, one)
      expect(fetchFrom(lab, 'outside', node, 8080)).toMatch(/ECONNREFUSED/)
      expect(rest(lab, pod, other)).toEqual([])
    })

    test.each([
      ['tuning', tuning],
      ['firewall', firewall],
      ['bandwidth', bandwidth],
      ['sbr', sbr],
    ])('%s works on what was made, and goes with it', async (_, plugin) => {
      const lab = await openLab(executable)
      const pod = addAll(lab, listOf(version, plugin), 'a')
      lab.must(...inside('a', 'ping', '-nqc1', '-W20', '-I', '10.9.0.2', '10.9.0.1'))
      expect(addressesOf(pod.result)).toEqual(['10.9.0.2', 'fd00:9::2'])
      checkAll(lab, pod)
      delAll(lab, pod)
      delAll(lab, pod)
      expect(rest(lab, pod)).toEqual([])
    })
  })

  test('all of them at once', async () => {
    const lab = await openLab(executable)
    const list = listOf('1.1.0', portmap, firewall, tuning, bandwidth)
    const pods = ['a', 'b', 'c'].map((name, i) =>
      addAll(lab, list, name, { portMappings: [{ hostPort: 8080 + i, containerPort: 80, protocol: 'tcp' }] }),
    )
    for (const pod of pods) checkAll(lab, pod)
    for (const pod of pods) delAll(lab, pod)
    expect(rest(lab, ...pods)).toEqual([])
  })
})
