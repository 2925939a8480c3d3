import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { STORE, snapshot } from './observe.ts'
import { type Attachment, add, BRIDGE, check, conf, dualStack, expectFault } from './plugin.ts'

interface Break {
  name: string
  /** `$HOST` is the host end of the pair. */
  does: string
  /** What the message has to speak of. */
  about: RegExp
}

const breaks: Break[] = [
  {
    name: 'the default route leads elsewhere',
    does: 'ip -n a route replace default via 10.9.0.200',
    about: /10\.9\.0\.1\b/,
  },
  { name: 'the default route is gone', does: 'ip -n a route del default', about: /route|default|0\.0\.0\.0/ },
  { name: 'the packet filter was flushed', does: 'nft flush ruleset', about: /10\.9\.0\.2/ },
  {
    name: 'the way to the rules was flushed',
    does: 'nft flush chain inet cni_plugins_masquerade postrouting',
    about: /10\.9\.0\.2.*not reached/,
  },
  {
    name: 'the rule of the network is gone',
    does: 'nft flush chain inet cni_plugins_masquerade masq_checks',
    about: /10\.9\.0\.2.*none/,
  },
  { name: 'hairpin is off', does: 'ip link set $HOST type bridge_slave hairpin off', about: /hairpin/ },
  { name: 'the gateway address is gone', does: `ip addr del 10.9.0.1/24 dev ${BRIDGE}`, about: /10\.9\.0\.1/ },
  { name: 'the IPv6 gateway address is gone', does: `ip addr del fd00:9::1/64 dev ${BRIDGE}`, about: /fd00:9::1/ },
  { name: 'the bridge is down', does: `ip link set ${BRIDGE} down`, about: /br-t/ },
  { name: 'the bridge is gone', does: `ip link del ${BRIDGE}`, about: /br-t/ },
  { name: 'IPv4 forwarding is off', does: 'echo 0 >/proc/sys/net/ipv4/ip_forward', about: /forward/ },
  { name: 'IPv6 forwarding is off', does: 'echo 0 >/proc/sys/net/ipv6/conf/all/forwarding', about: /forward/ },
  { name: 'eth0 has a larger MTU than its other end', does: 'ip -n a link set eth0 mtu 1450', about: /1450/ },
  { name: 'eth0 is down', does: 'ip -n a link set eth0 down', about: /eth0/ },
  { name: 'eth0 is gone', does: 'ip -n a link del eth0', about: /eth0/ },
  {
    name: 'eth0 has another hardware address',
    does: 'ip -n a link set eth0 address 02:00:00:00:00:99',
    about: /02:00:00:00:00:99/,
  },
  { name: 'the address is gone', does: 'ip -n a addr del 10.9.0.2/24 dev eth0', about: /10\.9\.0\.2/ },
  { name: 'the reservation is gone', does: `rm ${STORE}/t/10.9.0.2`, about: /10\.9\.0\.2/ },
  {
    name: 'the reservation is of another address',
    does: `mv ${STORE}/t/10.9.0.2 ${STORE}/t/10.9.0.9`,
    about: /10\.9\.0\.2/,
  },
  { name: "the reservation is a stranger's", does: `printf 'x\\r\\neth0' >${STORE}/t/10.9.0.2`, about: /10\.9\.0\.2/ },
  { name: 'the host end is off the bridge', does: 'ip link set $HOST nomaster', about: /veth/ },
  {
    name: 'the host end is on another bridge',
    does: 'ip link add br-u type bridge; ip link set $HOST master br-u',
    about: /br-u/,
  },
  { name: 'the host end is down', does: 'ip link set $HOST down', about: /veth|down|up/ },
]

const healthy = [
  { name: 'right after ADD', does: ':' },
  { name: 'the host end has another hardware address', does: 'ip link set $HOST address 02:00:00:00:00:98' },
  { name: 'somebody listens on the bridge', does: `ip link set ${BRIDGE} promisc on` },
  { name: 'another plugin added an address', does: 'ip -n a addr add 192.0.2.7/24 dev eth0' },
  { name: 'another plugin added a route', does: 'ip -n a route add 192.0.2.0/24 via 10.9.0.1' },
  { name: 'the administrator added an address to the bridge', does: `ip addr add 192.0.2.1/24 dev ${BRIDGE}` },
  { name: 'another plugin lowered the MTU', does: 'ip -n a link set eth0 mtu 1300' },
  { name: '/run was wiped', does: 'rm -rf /run/pontoon' },
]

const withHairpin = () => dualStack({ hairpinMode: true, mtu: 1400 })

function happens(lab: Lab, one: Attachment, script: string): void {
  lab.must('sh', '-ec', script.replaceAll('$HOST', one.result.interfaces[1].name))
}

forEachExecutable((executable) => {
  test.each(breaks)('CHECK fails when $name', async ({ does, about }) => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', withHairpin())
    happens(lab, one, does)
    const before = snapshot(lab)
    const done = check(lab, one)
    expectFault(done, { about })
    expect(done.json.code).toBeGreaterThanOrEqual(100)
    expect(done.stdout).toMatch(/want|expected|missing/)
    expect(snapshot(lab), 'CHECK repairs nothing').toEqual(before)
  })

  test('CHECK tells all that is wrong, in one error', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', withHairpin())
    happens(
      lab,
      one,
      `ip link set $HOST type bridge_slave hairpin off; ip addr del 10.9.0.1/24 dev ${BRIDGE}; ip -n a link set eth0 mtu 1450`,
    )
    const done = check(lab, one)
    for (const about of [/hairpin/, /10\.9\.0\.1/, /1450/]) expectFault(done, { about })
  })

  test.each(healthy)('CHECK passes when $name', async ({ does }) => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', withHairpin())
    happens(lab, one, does)
    expect(check(lab, one)).toMatchObject({ status: 0, stdout: '' })
  })

  test('CHECK passes when the namespace is named by /var/run', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a')
    expect(check(lab, one, { netns: '/var/run/netns/a' })).toMatchObject({ status: 0, stdout: '' })
  })

  test('CHECK takes the configuration as another program wrote it', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', conf({ ipam: { ranges: undefined, subnet: '10.9.0.0/24' } }))
    const ipam = {
      type: 'host-local',
      Name: '',
      resolvConf: '',
      ranges: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.1', rangeEnd: '10.9.0.254', gateway: '10.9.0.1' }]],
      routes: [{ dst: '0.0.0.0/0' }],
    }
    const rewritten = { ...one.conf, ipam, dns: {}, prevResult: one.result }
    expect(check(lab, one, { conf: rewritten })).toMatchObject({ status: 0, stdout: '' })
  })

  const refused = [
    { name: 'no prevResult', keys: { prevResult: undefined }, code: undefined },
    { name: 'a cniVersion that has no CHECK', keys: { cniVersion: '0.3.1' }, code: 1 },
  ]
  test.each(refused)('CHECK is refused: $name', async ({ keys, code }) => {
    const lab = await openLab(executable)
    const one = add(lab, 'a')
    const done = check(lab, one, { conf: { ...one.conf, prevResult: one.result, ...keys } })
    expectFault(done, code === undefined ? {} : { code })
  })

  test('CHECK fails when the namespace is gone', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a')
    lab.must('ip', 'netns', 'del', 'a')
    expectFault(check(lab, one))
  })
})
