import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { at } from './observe.ts'
import { ping } from './ping.ts'
import { add, addressesOf, type Call, del, dualStack } from './plugin.ts'
import { said, until } from './until.ts'

const neighbour = (lab: Lab, from: string | undefined, ip: string): string =>
  lab.must('ip', ...`${at(from)}neigh show ${ip}`.split(' ')).trim()

/** The world outside the node: a namespace with a link to it that knows no way to the pods. */
function openOutside(lab: Lab): void {
  lab.netns('out')
  lab.must(
    'sh',
    '-ec',
    `
    ip link add up0 type veth peer name eth0 netns out
    ip addr add 192.0.2.1/24 dev up0; ip addr add 2001:db8::1/64 dev up0 nodad; ip link set up0 up
    ip -n out addr add 192.0.2.2/24 dev eth0; ip -n out addr add 2001:db8::2/64 dev eth0 nodad; ip -n out link set eth0 up`,
  )
}

/** The source addresses of the next packets that the outside gets of these protocols. */
async function watchOutside(lab: Lab, filter: string) {
  const watch = lab.background(...`ip netns exec out tcpdump --immediate-mode -lnqt -c1 -i eth0 ${filter}`.split(' '))
  await said(watch, 'listening on')
  return async () => {
    await said(watch, /^IP6? .* > /m)
    return /^IP6? (\S+) > /m.exec(watch.output())?.[1]
  }
}

forEachExecutable((executable) => {
  test('pods reach their gateway and each other, and the node reaches them', async () => {
    const lab = await openLab(executable)
    const [a, b] = [add(lab, 'a', dualStack()), add(lab, 'b', dualStack())]
    for (const ip of [...addressesOf(b.result), '10.9.0.1', 'fd00:9::1']) {
      expect(ping(lab, 'a', ip), `a to ${ip}`).toBe(true)
    }
    for (const ip of addressesOf(a.result)) {
      expect(ping(lab, 'b', ip), `b to ${ip}`).toBe(true)
      expect(ping(lab, undefined, ip), `node to ${ip}`).toBe(true)
    }
  })

  const backends = [{ backend: 'the default' }, { backend: 'nftables' }, { backend: 'iptables' }]
  test.each(backends)(
    'what leaves the node bears its address (masquerade by $backend backend)',
    async ({ backend }) => {
      const lab = await openLab(executable)
      openOutside(lab)
      add(lab, 'a', dualStack(backend === 'the default' ? {} : { ipMasqBackend: backend }))
      const seen = await watchOutside(lab, 'icmp[icmptype]=icmp-echo')
      expect(ping(lab, 'a', '192.0.2.2')).toBe(true)
      expect(await seen()).toBe('192.0.2.1')
      const seen6 = await watchOutside(lab, 'icmp6 and ip6[40]=128')
      expect(ping(lab, 'a', '2001:db8::2')).toBe(true)
      expect(await seen6()).toBe('2001:db8::1')
    },
  )

  test('without ipMasq what leaves the node bears the address of the pod', async () => {
    const lab = await openLab(executable)
    openOutside(lab)
    add(lab, 'a', dualStack({ ipMasq: false }))
    const seen = await watchOutside(lab, 'icmp[icmptype]=icmp-echo')
    ping(lab, 'a', '192.0.2.2', 1)
    expect(await seen()).toBe('10.9.0.2')
  })

  test('pods see the address of a pod, not the node, though ipMasq is on', async () => {
    const lab = await openLab(executable)
    const [, b] = [add(lab, 'a', dualStack()), add(lab, 'b', dualStack())]
    const watch = lab.background(...'ip netns exec b tcpdump --immediate-mode -lnqt -c1 -i eth0 icmp'.split(' '))
    await said(watch, 'listening on')
    ping(lab, 'a', addressesOf(b.result)[0] as string)
    await said(watch, ' > ')
    expect(watch.output()).toMatch(/^IP 10\.9\.0\.2 > 10\.9\.0\.3/m)
  })

  const successors: { name: string; first?: Call; second?: Call }[] = [
    { name: 'as it comes' },
    {
      name: 'with another hardware address',
      first: { args: 'IgnoreUnknown=1;MAC=02:00:00:00:00:01' },
      second: { args: 'IgnoreUnknown=1;MAC=02:00:00:00:00:02' },
    },
  ]
  test.each(successors)(
    'a pod that gets the address of a predecessor is told to those who knew that one: $name',
    async ({ first, second }) => {
      const lab = await openLab(executable)
      const two = dualStack({
        ipam: {
          ranges: [
            [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.2', rangeEnd: '10.9.0.3' }],
            [{ subnet: 'fd00:9::/64', rangeStart: 'fd00:9::2', rangeEnd: 'fd00:9::3' }],
          ],
        },
      })
      add(lab, 'peer', two)
      const pod1 = add(lab, 'pod1', two, first)
      const ips = addressesOf(pod1.result)
      const ways = ips.flatMap((ip) => ['peer', undefined].map((from) => ({ ip, from })))
      for (const { ip, from } of ways) expect(ping(lab, from, ip)).toBe(true)
      del(lab, pod1, first)
      const pod2 = add(lab, 'pod2', two, second)
      expect(addressesOf(pod2.result)).toEqual(ips)
      // Before anybody sends a packet: without an announcement the entries would stay as they are.
      const { mac } = pod2.result.interfaces[2]
      for (const { ip, from } of ways) {
        const isRight = () => !/lladdr/.test(neighbour(lab, from, ip)) || neighbour(lab, from, ip).includes(mac)
        await until(isRight, () => `${from ?? 'node'}: ${neighbour(lab, from, ip)}, and ${ip} is at ${mac}`)
      }
      for (const { ip, from } of ways) expect(ping(lab, from, ip), `${from ?? 'node'} to ${ip}`).toBe(true)
    },
  )
})
