/**
 * Two nodes and what is beyond: each node has a bridge, a store and an index of its own, and a range that its runtime
 * put into the template. Static routes stand for what a cluster's router does.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { packetFilter, STORE, store } from './observe.ts'
import { ping } from './ping.ts'
import { addressesOf } from './plugin.ts'
import { said, until } from './until.ts'

const TEMPLATE = readFileSync(join(import.meta.dirname, '../conf/containerd-template.conflist'), 'utf8')

/** As containerd fills the template in: Go's text/template, of which it uses only these two loops. */
function render(ranges: readonly string[], routes: readonly string[]): Json {
  const values: Record<string, readonly string[]> = { PodCIDRRanges: ranges, Routes: routes }
  const loop = /\{\{range \$i, \$(\w+) := \.(\w+)\}\}\{\{if \$i\}\}(.*?)\{\{end\}\}(.*?)\{\{end\}\}/g
  const text = TEMPLATE.replace(loop, (_, variable: string, list: string, separator: string, body: string) =>
    (values[list] ?? []).map((value) => body.replaceAll(`{{$${variable}}}`, value)).join(separator),
  )
  return JSON.parse(text)
}

interface Node {
  readonly name: string
  /** Last byte of its addresses on the wire. */
  readonly at: number
  readonly ranges: readonly string[]
}

const wire4 = (at: number) => `192.0.2.${at}`
const wire6 = (at: number) => `2001:db8::${at}`

/** Puts a namespace on the wire, a bridge in the lab itself. */
function connect(lab: Lab, name: string, at: number): void {
  lab.netns(name)
  lab.must('ip', 'link', 'add', `wire${at}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  lab.must('ip', 'link', 'set', `wire${at}`, 'master', 'wire', 'up')
  lab.must('ip', '-n', name, 'addr', 'add', `${wire4(at)}/24`, 'dev', 'eth0')
  lab.must('ip', '-n', name, 'addr', 'add', `${wire6(at)}/64`, 'dev', 'eth0', 'nodad')
  for (const device of ['lo', 'eth0']) lab.must('ip', '-n', name, 'link', 'set', device, 'up')
}

/** The plugin, called on a node: in its network namespace, with a store and an index of the node's own. */
function callOn(lab: Lab, node: Node, verb: string, pod: string, conf: Json, prevResult?: Json): Json {
  const netns = lab.netns(pod)
  const run = `mkdir -p /run/nodes/${node.name} /run/pontoon
mount --bind /run/nodes/${node.name} /run/pontoon
exec nsenter --net=/run/netns/${node.name} /opt/cni/bin/pontoon`
  const env = {
    CNI_COMMAND: verb,
    CNI_CONTAINERID: pod,
    CNI_NETNS: netns,
    CNI_IFNAME: 'eth0',
    CNI_PATH: '/opt/cni/bin',
  }
  const stdin = JSON.stringify({ ...conf, ...(prevResult && { prevResult }) })
  const done = lab.run(['unshare', '--mount', 'sh', '-ec', run], { env, stdin })
  lab.note(`${verb} ${pod} on ${node.name}: status ${done.status}\n${done.stdout}${done.stderr}`)
  expect(done, done.stdout).toMatchObject({ status: 0 })
  return done.stdout === '' ? undefined : JSON.parse(done.stdout)
}

/** The first plugin of the rendered list, as the runtime of this node hands it on. */
function confOf(node: Node, routes: readonly string[], keys: Json = {}): Json {
  const { plugins, name, cniVersion } = render(node.ranges, routes)
  const [own] = plugins
  const dataDir = `${STORE}/${node.name}`
  return { ...own, ...keys, name, cniVersion, ipam: { ...own.ipam, dataDir } }
}

/** Whom the echo requests at this place came from. */
async function sendersAt(lab: Lab, place: string, send: () => void): Promise<readonly string[]> {
  const filter = '(icmp[icmptype] == icmp-echo) or (icmp6 and ip6[40] == 128)'
  const sniff = lab.background('ip', 'netns', 'exec', place, 'tcpdump', '-lnni', 'eth0', '--immediate-mode', filter)
  await said(sniff, 'listening on')
  const senders = () => [...sniff.output().matchAll(/ IP6? ([0-9a-f.:]+) > .*\n/g)].map(([, sender = '']) => sender)
  send()
  await until(() => senders().length > 0, sniff.output)
  sniff.stop()
  return senders()
}

const families = [
  { name: 'IPv4', six: false },
  { name: 'dual stack', six: true },
]
const ways = [
  { name: 'ipMasqExclude names the ranges of all pods', keys: {}, isMasqueraded: true },
  { name: 'ipMasq is off', keys: { ipMasq: false, ipMasqExclude: undefined }, isMasqueraded: false },
]

forEachExecutable((executable) => {
  describe.each(families)('$name', ({ six }) => {
    test.each(ways)('pods of two nodes reach each other as themselves: $name', async ({ keys, isMasqueraded }) => {
      const lab = await openLab(executable)
      const nodes: readonly Node[] = [1, 2].map((at) => ({
        name: `node${at}`,
        at,
        ranges: six ? [`10.244.${at}.0/24`, `fd00:244:0:${at}::/64`] : [`10.244.${at}.0/24`],
      }))
      const [one, two] = nodes as [Node, Node]
      lab.must('ip', 'link', 'add', 'wire', 'up', 'type', 'bridge')
      for (const { name, at } of nodes) connect(lab, name, at)
      connect(lab, 'beyond', 9)
      for (const [here, there] of [
        [one, two],
        [two, one],
      ] as const) {
        for (const range of there.ranges) {
          const via = range.includes(':') ? wire6(there.at) : wire4(there.at)
          lab.must('ip', '-n', here.name, 'route', 'add', range, 'via', via)
        }
      }

      const conf = (node: Node) => confOf(node, six ? ['0.0.0.0/0', '::/0'] : ['0.0.0.0/0'], keys)
      const pods = [
        { node: one, name: 'a' },
        { node: one, name: 'b' },
        { node: two, name: 'c' },
      ]
      const results = pods.map(({ node, name }) => callOn(lab, node, 'ADD', name, conf(node)))
      const [ofA = [], ofB = [], ofC = []] = results.map(addressesOf)
      expect(ofA).toEqual(six ? ['10.244.1.2', 'fd00:244:0:1::2'] : ['10.244.1.2'])
      expect(ofC).toEqual(six ? ['10.244.2.2', 'fd00:244:0:2::2'] : ['10.244.2.2'])

      for (const address of ofC) {
        const own = ofA.filter((mine) => mine.includes(':') === address.includes(':'))
        expect(await sendersAt(lab, 'c', () => expect(ping(lab, 'a', address)).toBe(true))).toEqual(own)
      }
      for (const address of [...ofA, ...ofB]) expect(ping(lab, 'c', address), address).toBe(true)

      for (const address of six ? [wire4(9), wire6(9)] : [wire4(9)]) {
        const seen = await sendersAt(lab, 'beyond', () => ping(lab, 'a', address, isMasqueraded ? 20 : 1))
        const isSix = address.includes(':')
        const own = ofA.filter((mine) => mine.includes(':') === isSix)
        expect(seen).toEqual(isMasqueraded ? [isSix ? wire6(one.at) : wire4(one.at)] : own)
        if (isMasqueraded) expect(ping(lab, 'a', address)).toBe(true)
      }

      pods.forEach(({ node, name }, i) => {
        callOn(lab, node, 'CHECK', name, conf(node), results[i])
      })
      pods.forEach(({ node, name }, i) => {
        callOn(lab, node, 'DEL', name, conf(node), results[i])
      })
      for (const { name } of nodes) {
        expect(store(lab, `${name}/pods`)).toEqual({})
        expect(lab.must('ip', '-n', name, 'link', 'show', 'master', 'cni0')).toBe('')
        expect(lab.must('ip', 'netns', 'exec', name, 'nft', 'list', 'ruleset')).not.toMatch(/elements|10\.244\.\d\.2\b/)
      }
      expect(packetFilter(lab)).toEqual([]) // the lab itself is no node
    })
  })
})
