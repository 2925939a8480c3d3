/** What others made, however much it looks like Pontoon's: DEL and GC leave it as it is. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { commentOf, hostVethOf, keyOf, labelOf } from '../src/core/attachment.ts'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { packetFilter, STORE, snapshot } from './observe.ts'
import { add, addressesOf, callPlugin, check, conf, NET } from './plugin.ts'

const LIST = 'cni.dev/valid-attachments'
const gone = { network: NET, containerID: 'gone', ifname: 'eth0' }
const veth = hostVethOf(keyOf(gone))

/** A network of this name, on a bridge of its own unless told otherwise. */
const net = (name: string, octet: number, keys: Json = {}) =>
  conf({ name, bridge: `br-${octet}`, ipam: { ranges: [[{ subnet: `10.${octet}.0.0/24` }]] }, ...keys })

const verbs: { name: string; run: (lab: Lab) => void }[] = [
  {
    name: 'DEL of what was never added',
    run: (lab) => {
      for (const netns of ['', '/proc/self/ns/net', '/run/netns/stranger']) {
        expect(callPlugin(lab, 'DEL', { id: 'gone', netns })).toMatchObject({ status: 0, stdout: '' })
      }
    },
  },
  ...[[], null].map((list) => ({
    name: `GC with ${JSON.stringify(list)}`,
    run: (lab: Lab) =>
      expect(callPlugin(lab, 'GC', { conf: conf({ [LIST]: list }), ifname: '' })).toMatchObject({ status: 0 }),
  })),
]

const things: { name: string; make: string }[] = [
  { name: "the node's own eth0", make: 'ip link add eth0 type veth peer name far; ip addr add 10.9.0.2/24 dev eth0' },
  {
    name: "a stranger's eth0 with an address of the range",
    make: 'ip link add out0 type veth peer name eth0 netns stranger; ip -n stranger addr add 10.9.0.2/24 dev eth0',
  },
  {
    name: 'a veth of the very name, with the label of another network',
    make: `ip link add ${veth} type veth peer name far; ip link set ${veth} alias ${labelOf({ ...gone, network: 'net1' })}`,
  },
  {
    name: 'a veth of the very name, with a label of somebody else',
    make: `ip link add ${veth} type veth peer name far; ip link set ${veth} alias docker`,
  },
  { name: 'a device of the very name that is no veth', make: `ip link add ${veth} type bridge` },
  {
    name: 'veths with names like ours, without a label',
    make: 'ip link add veth0123456789a type veth peer name vethabcdef01234',
  },
  {
    name: "the network's bridge, made by somebody else",
    make: 'ip link add br-t address 02:00:00:00:00:55 type bridge; ip addr add 10.9.0.1/24 dev br-t; ip link add p type veth peer name q; ip link set p master br-t',
  },
  {
    name: 'a bond of the name that a gateway in a VLAN would have',
    make: 'ip link add br-t.100 type bridge',
  },
  {
    name: 'tables, chains, sets and rules of other programs',
    make: `nft -f - <<E
table inet filter { set pods-t-x { type ipv4_addr; elements = { 10.9.0.2 }; }
  chain forward { type filter hook forward priority 0; ip saddr @pods-t-x accept comment "net: t, 10.9.0.0/24"; }
}
table bridge nat { chain PREROUTING { type filter hook prerouting priority -300; 
  ether saddr 02:00:00:00:00:01 accept
 }
}
table ip nat { chain postrouting { type nat hook postrouting priority 100; 
  ip saddr 10.9.0.0/24 masquerade
 }
}
E`,
  },
  {
    name: "a chain, a set and a rule of somebody else in the reference's table",
    make: `nft -f - <<E
table inet cni_plugins_masquerade {
  set mine { type ipv4_addr; elements = { 10.9.0.2 }; }
  set pods-t { type ipv4_addr; elements = { 10.9.0.3 }; }
  set pods-t-b-10.9.0.0/24 { type ipv4_addr; elements = { 10.9.0.4 comment "${commentOf({ ...gone, network: 't-b' })}" }; }
  chain mine { ip saddr @mine drop comment "net: t, mine"; }
  chain masq_checks { ip saddr 10.9.0.9 masquerade comment "by hand"; }
}
E`,
  },
  {
    name: 'iptables rules of others in the nat table',
    make: `iptables -t nat -N CNI-HOSTPORT; iptables -t nat -A POSTROUTING -s 10.9.0.2 -m comment --comment "by hand" -j MASQUERADE
      iptables -t nat -N CNI-mine; iptables -t nat -A POSTROUTING -s 10.9.0.2 -m comment --comment 'name: "u" id: "gone"' -j CNI-mine`,
  },
]

forEachExecutable((executable) => {
  describe.each(verbs)('$name', ({ run }) => {
    test.each(things)('leaves $name', async ({ make }) => {
      const lab = await openLab(executable)
      lab.netns('stranger')
      lab.must('sh', '-ec', make)
      const before = snapshot(lab)
      run(lab)
      expect(snapshot(lab)).toEqual(before)
    })
  })

  test.each([
    { name: 'an empty list', list: [] },
    { name: 'null', list: null },
  ])('GC with $name of one network leaves the others, whatever their names and folders', async ({ list }) => {
    const lab = await openLab(executable)
    const keys = { bridge: 'br-t' }
    const others = [
      add(lab, 'a', net('net1-b', 11, keys)),
      add(lab, 'b', net('net1-10.12.0.0', 12, keys)),
      add(lab, 'c', net('net', 13)),
      add(
        lab,
        'd',
        net('net1', 14, { ...keys, ipam: { dataDir: '/run/other', ranges: [[{ subnet: '10.14.0.0/24' }]] } }),
      ),
      add(lab, 'e', net('net10', 15, { ...keys, ipMasqBackend: 'iptables' })),
    ]
    const before = snapshot(lab)
    const mine = add(lab, 'm', net('net1', 16, keys))
    expect(callPlugin(lab, 'GC', { conf: { ...mine.conf, [LIST]: list }, ifname: '' })).toMatchObject({ status: 0 })
    for (const other of others) expect(check(lab, other), other.conf.name).toMatchObject({ status: 0 })
    if (list) {
      const after = snapshot(lab)
      const pods = others.flatMap(({ result }) => addressesOf(result))
      const links = (shot: Json) => shot.network.host.links.map((link: Json) => link.ifname)
      expect(links(after)).toEqual(links(before))
      expect(packetFilter(lab).filter((line) => pods.some((ip) => line.includes(ip))).length).toBeGreaterThan(0)
      expect(after.packetFilter).toEqual(before.packetFilter)
      expect(after.store).toEqual(before.store)
    } else expect(check(lab, mine)).toMatchObject({ status: 0 })
  })

  test('files in the store that are no reservations stay, whoever put them there', async () => {
    const lab = await openLab(executable)
    const folder = `${lab.root}${STORE}/${NET}`
    mkdirSync(`${folder}/10.9.0.77`, { recursive: true })
    for (const name of ['README', 'a.b.c.d', '10.9.0.5.bak', '10.9.0', 'lock', 'last_reserved_ip.0']) {
      writeFileSync(`${folder}/${name}`, 'gone\r\neth0')
    }
    writeFileSync(`${folder}/10.9.0.6`, 'other\r\neth0')
    const before = lab.must('ls', '-R', STORE)
    expect(callPlugin(lab, 'DEL', { id: 'gone', netns: '' }).status).toBe(0)
    expect(callPlugin(lab, 'GC', { conf: conf({ [LIST]: null }), ifname: '' }).status).toBe(0)
    expect(lab.must('ls', '-R', STORE)).toBe(before)
    expect(callPlugin(lab, 'GC', { conf: conf({ [LIST]: [] }), ifname: '' }).status).toBe(0)
    expect(lab.must('ls', '-R', STORE)).toBe(before.replace('10.9.0.6\n', ''))
  })
})
