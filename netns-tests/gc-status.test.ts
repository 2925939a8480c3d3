import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, openLab } from './lab.ts'
import { age, files, leftovers, marksOf, packetFilter, STORE, snapshot, store } from './observe.ts'
import { add, BRIDGE, callPlugin, check, conf, del, dualStack, expectFault } from './plugin.ts'

const valid = (...names: string[]) => names.map((name) => ({ containerID: `pod-${name}`, ifname: 'eth0' }))
const LIST = 'cni.dev/valid-attachments'

/** a and b live, c is dead: its namespace is gone. */
const collections: { name: string; keys: Json; kept: string[] }[] = [
  { name: 'a list of one', keys: { [LIST]: valid('a') }, kept: ['a'] },
  { name: 'a list of all, the dead one too', keys: { [LIST]: valid('a', 'b', 'c') }, kept: ['a', 'b', 'c'] },
  {
    name: 'a list with another interface of a',
    keys: { [LIST]: [{ containerID: 'pod-a', ifname: 'eth9' }] },
    kept: [],
  },
  { name: 'an empty list', keys: { [LIST]: [] }, kept: [] },
  { name: 'null for a list', keys: { [LIST]: null }, kept: ['a', 'b'] },
  { name: 'no list', keys: {}, kept: ['a', 'b'] },
  { name: 'the older key', keys: { 'cni.dev/attachments': valid('b') }, kept: ['b'] },
  { name: 'both keys', keys: { [LIST]: valid('a'), 'cni.dev/attachments': valid('a') }, kept: ['a'] },
  { name: 'disableGC', keys: { [LIST]: [], disableGC: true }, kept: ['a', 'b', 'c'] },
]

const unready: { name: string; happened: string; code: number; about: RegExp; keys?: Json; pods?: true }[] = [
  {
    name: 'ip is missing',
    happened: 'mount --bind /dev/null "$(readlink -f "$(command -v ip)")"',
    code: 50,
    about: /\bip\b/,
  },
  {
    name: 'nft is missing',
    happened:
      'mount --bind /dev/null "$(readlink -f "$(command -v nft)")"; mount --bind /dev/null "$(readlink -f "$(command -v iptables)")"',
    code: 50,
    about: /nft/,
  },
  {
    name: 'the store cannot be written',
    happened: 'mount -o remount,ro /var/lib/cni',
    code: 50,
    about: /\/var\/lib\/cni/,
  },
  {
    name: 'no address is left',
    happened: ':',
    code: 50,
    about: /address/,
    keys: { ipam: { ranges: [[{ subnet: '10.9.0.0/30' }]] } },
    pods: true,
  },
  {
    name: 'the bridge is no bridge',
    happened: `ip link add ${BRIDGE} type veth peer name other`,
    code: 50,
    about: /br-t/,
  },
  { name: 'the bridge is the loopback device', happened: ':', code: 50, about: /lo/, keys: { bridge: 'lo' } },
  {
    name: 'the IPAM plugin is missing',
    happened: ':',
    code: 50,
    about: /no-such-ipam/,
    keys: { ipam: { type: 'no-such-ipam' } },
  },
  {
    name: 'another gateway is in place, and no pod',
    happened: `ip link add ${BRIDGE} type bridge; ip addr add 10.9.0.7/24 dev ${BRIDGE}`,
    code: 50,
    about: /gateway 10\.9\.0\.1\/24[\s\S]*10\.9\.0\.7\/24[\s\S]*forceAddress/,
  },
  {
    name: 'another gateway is in place of that of a second set',
    happened: `ip link add ${BRIDGE} type bridge; ip addr add fd00:9::7/64 dev ${BRIDGE} nodad`,
    code: 50,
    about: /gateway fd00:9::1\/64[\s\S]*fd00:9::7\/64/,
    keys: { ipam: { ranges: [[{ subnet: '10.9.0.0/24' }], [{ subnet: 'fd00:9::/64' }]] } },
  },
  {
    name: 'the gateway address is gone while there are pods',
    happened: `ip addr del 10.9.0.1/24 dev ${BRIDGE}`,
    code: 51,
    about: /10\.9\.0\.1/,
    pods: true,
  },
  {
    name: 'forwarding is off while there are pods',
    happened: 'echo 0 >/proc/sys/net/ipv4/ip_forward',
    code: 51,
    about: /forward/,
    pods: true,
  },
  {
    name: 'the bridge is down while there are pods',
    happened: `ip link set ${BRIDGE} down`,
    code: 51,
    about: /br-t/,
    pods: true,
  },
  {
    name: 'the bridge is gone while there are pods',
    happened: `ip link del ${BRIDGE}`,
    code: 51,
    about: /br-t/,
    pods: true,
  },
]

const otherGateway = `ip link add ${BRIDGE} type bridge; ip addr add 10.9.0.7/24 dev ${BRIDGE}`
const ready: { name: string; happened: string; keys?: Json; pods: boolean }[] = [
  { name: 'with another gateway that gives way', happened: otherGateway, keys: { forceAddress: true }, pods: false },
  {
    name: 'with another gateway in the way of one range of two',
    happened: otherGateway,
    keys: { ipam: { ranges: [[{ subnet: '10.9.0.0/24' }, { subnet: '10.8.0.0/24' }]] } },
    pods: false,
  },
  {
    name: 'with another gateway on a bridge that is to have none',
    happened: otherGateway,
    keys: { isGateway: false },
    pods: false,
  },
  { name: 'on a fresh machine', happened: ':', pods: false },
  { name: 'with pods', happened: ':', pods: true },
  { name: 'with a bridge that the administrator made', happened: `ip link add ${BRIDGE} type bridge`, pods: false },
  { name: 'with a store that is held', happened: `mkdir -p ${STORE}/t; mkdir ${STORE}/t.lock`, pods: false },
]

forEachExecutable((executable) => {
  describe('GC', () => {
    test.each(collections)('with $name keeps $kept', async ({ keys, kept }) => {
      const lab = await openLab(executable)
      const config = dualStack({ macspoofchk: true })
      const all = ['a', 'b', 'c'].map((name) => add(lab, name, config))
      const foreign = add(
        lab,
        'x',
        conf({ name: 'u', bridge: 'br-u', ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } }),
      )
      lab.must('ip', 'netns', 'del', 'c')
      age(lab)
      for (const _ of ['once', 'twice']) {
        expect(callPlugin(lab, 'GC', { conf: { ...config, ...keys }, ifname: '' })).toMatchObject({
          status: 0,
          stdout: '',
        })
      }
      const owners = [...new Set(Object.values(store(lab)).map((owner) => owner.replace(/^pod-|\r\neth0$/g, '')))]
      expect(owners).toEqual(kept)
      const filter = packetFilter(lab).join('\n')
      for (const { id } of all) expect(filter.includes(id) || !kept.includes(id.slice(4)), id).toBe(true)
      const removed = all.filter(({ id }) => !kept.includes(id.slice(4)))
      expect(leftovers(lab, ...marksOf(...removed)).filter((line) => line.startsWith('packet'))).toEqual([])
      const ports = lab.ip('-j link show').filter((link: Json) => link.master === BRIDGE)
      expect(ports).toHaveLength(kept.filter((name) => name !== 'c').length)
      for (const one of [...all, foreign]) {
        const lives = one === foreign || (kept.includes(one.id.slice(4)) && one.id !== 'pod-c')
        if (lives) expect(check(lab, one), one.id).toMatchObject({ status: 0 })
      }
    })
  })

  describe('GC goes on', () => {
    const nothingStays = { [LIST]: [] }

    test('without the packet filter: all else is removed, and the entry of who has something there stays', async () => {
      const lab = await openLab(executable)
      const plain = conf({ ipMasq: false, name: 'u', bridge: 'br-u', ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } })
      const masqueraded = conf({ ipMasqBackend: 'nftables' })
      const all = [add(lab, 'a', masqueraded), add(lab, 'b', plain)]
      const gc = (config: Json) => callPlugin(lab, 'GC', { conf: { ...config, ...nothingStays }, ifname: '' })
      lab.must('sh', '-ec', 'mount --bind /bin/false "$(readlink -f "$(command -v nft)")"')
      expectFault(gc(plain), { code: 102, about: /nft/ })
      expect(store(lab, 'u')).toEqual({})
      expectFault(gc(masqueraded), { code: 102, about: /nft/ })
      expect(Object.keys(store(lab))).toEqual(['10.9.0.2'])
      expect(lab.ip('-j link show type veth')).toEqual([])
      lab.must('sh', '-ec', 'umount "$(readlink -f "$(command -v nft)")"')
      expect(gc(masqueraded)).toMatchObject({ status: 0 })
      expect(leftovers(lab, ...marksOf(...all)).filter((line) => line !== `store ${STORE}/u/`)).toEqual([])
    })

    test('while an ADD takes over what it has looked at: that one keeps all that it has', async () => {
      const lab = await openLab(executable)
      const config = conf()
      const [one, other] = [add(lab, 'a', config), add(lab, 'b', config)]
      lab.must('ip', '-n', 'a', 'link', 'del', 'eth0')
      const env = `CNI_COMMAND=ADD CNI_CONTAINERID=${one.id} CNI_IFNAME=eth0 CNI_NETNS=/run/netns/a CNI_PATH=/opt/cni/bin`
      const again = `${env} /opt/cni/bin/pontoon </run/conf >/run/result || exit 1`
      writeFileSync(`${lab.root}/run/conf`, JSON.stringify(config))
      // The first `ip` of GC is started when the index has been looked at, and waits for the ADD.
      const ip = `#!/bin/sh\nif [ -e /run/once ]; then rm /run/once; ${again}; fi\nexec /run/real-ip "$@"\n`
      writeFileSync(`${lab.root}/run/ip`, ip, { mode: 0o755 })
      writeFileSync(`${lab.root}/run/once`, '')
      lab.must(
        'sh',
        '-ec',
        'real=$(readlink -f "$(command -v ip)"); cp "$real" /run/real-ip; mount --bind /run/ip "$real"',
      )
      expect(callPlugin(lab, 'GC', { conf: { ...config, ...nothingStays }, ifname: '' })).toMatchObject({ status: 0 })
      const result = JSON.parse(readFileSync(`${lab.root}/run/result`, 'utf8'))
      expect(check(lab, { ...one, result })).toMatchObject({ status: 0 })
      expect(Object.keys(store(lab))).toEqual(['10.9.0.2'])
      expect(leftovers(lab, ...marksOf(other)).filter((line) => line.startsWith('packet'))).toEqual([])
      del(lab, one)
      expect(leftovers(lab, ...marksOf(one, other))).toEqual([])
    })
  })

  describe('STATUS', () => {
    test.each(ready)('is ready $name, prints nothing and leaves nothing', async ({ happened, keys, pods }) => {
      const lab = await openLab(executable)
      if (pods) add(lab, 'a')
      lab.must('sh', '-ec', happened)
      const before = snapshot(lab)
      expect(callPlugin(lab, 'STATUS', { conf: conf(keys), ifname: '' })).toMatchObject({ status: 0, stdout: '' })
      expect(snapshot(lab)).toEqual(before)
    })

    test.each([
      ['bridge', { bridge: 'br-u' }],
      ['subnet', { ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } }],
    ])('is ready for the first pod of another %s', async (_, keys) => {
      const lab = await openLab(executable)
      add(lab, 'a')
      expect(callPlugin(lab, 'STATUS', { conf: conf(keys), ifname: '' })).toMatchObject({ status: 0, stdout: '' })
      add(lab, 'b', conf(keys))
    })

    test.each(unready)('says $code when $name', async ({ happened, code, about, keys, pods }) => {
      const lab = await openLab(executable)
      if (pods) add(lab, 'a', conf(keys))
      lab.must('sh', '-ec', happened)
      const before = files(lab, '/var/lib/cni')
      expectFault(callPlugin(lab, 'STATUS', { conf: conf(keys), ifname: '' }), { code, about })
      expect(files(lab, '/var/lib/cni')).toEqual(before)
    })
  })
})
