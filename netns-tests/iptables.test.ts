/** Masquerading by iptables, of both kinds: asked for, or because the machine has no nft. */
import { describe, expect, test } from 'vitest'
import { type Executable, forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { hide } from './mixed.ts'
import { addresses, files, leftovers, marksOf, snapshot } from './observe.ts'
import { add, BRIDGE, callPlugin, check, del, dualStack, expectFault, startPatiently } from './plugin.ts'
import { holdLock } from './until.ts'

const config = dualStack({ ipMasqBackend: 'iptables' })

/** Debian has both kinds, and one of them under the plain names. */
async function openLabWith(executable: Executable, kind: 'legacy' | 'nft'): Promise<Lab> {
  const lab = await openLab(executable)
  lab.must('sh', '-ec', `mount --bind /usr/sbin/xtables-${kind}-multi "$(readlink -f "$(command -v iptables)")"`)
  return lab
}

const saved = (lab: Lab): string[] =>
  ['iptables-save', 'ip6tables-save']
    .flatMap((tool) => lab.must(tool, '-t', 'nat').split('\n'))
    .filter((line) => line.includes('CNI-'))

const indexed = (lab: Lab): Json[] =>
  Object.entries(files(lab, '/run/pontoon')).flatMap(([path, text]) =>
    /\/[0-9a-f]{32}$/.test(path) ? [JSON.parse(text)] : [],
  )

/** What happened to the rules between ADD and DEL. */
const damages = [
  { name: 'are as they were made', damage: ':' },
  { name: 'were flushed', damage: 'iptables -t nat -F; ip6tables -t nat -F' },
  { name: 'are gone with their chain', damage: 'for t in iptables ip6tables; do $t -t nat -F; $t -t nat -X; done' },
  { name: 'lost their jump', damage: 'iptables -t nat -F POSTROUTING' },
  {
    name: 'are there twice',
    damage:
      'iptables-save -t nat | grep -e "-A POSTROUTING" | sed "1i *nat" | sed "\\$a COMMIT" | iptables-restore --noflush',
  },
  { name: 'are not in the index', damage: 'rm -r /run/pontoon' },
]

forEachExecutable((executable) => {
  describe.each(['nft', 'legacy'] as const)('iptables-%s', (kind) => {
    test('masquerades what leaves the subnet, in chains that the reference knows', async () => {
      const lab = await openLabWith(executable, kind)
      const one = add(lab, 'a', config)
      const chain = 'CNI-6d0cc219dcbd852a0f89f2d9'
      const comment = '-m comment --comment "name: \\"t\\" id: \\"pod-a\\""'
      const of = (ip: string, subnet: string, multicast: string) => [
        `-A POSTROUTING -s ${ip} ${comment} -j ${chain}`,
        `-A ${chain} -d ${subnet} ${comment} -j ACCEPT`,
        `-A ${chain} ! -d ${multicast} ${comment} -j MASQUERADE`,
      ]
      expect(saved(lab).filter((line) => line.startsWith('-A'))).toEqual([
        ...of('10.9.0.2/32', '10.9.0.0/24', '224.0.0.0/4'),
        ...of('fd00:9::2/128', 'fd00:9::/64', 'ff00::/8'),
      ])
      expect(lab.run(['nft', 'list', 'tables']).stdout).not.toContain('cni_plugins_masquerade')
      expect(indexed(lab)).toMatchObject([{ masquerade: 'iptables' }])
      expect(check(lab, one)).toMatchObject({ status: 0, stdout: '' })
    })

    test.each(damages)('DEL leaves nothing when the rules $name, and once more', async ({ damage }) => {
      const lab = await openLabWith(executable, kind)
      const [one, other] = [add(lab, 'a', config), add(lab, 'b', config)]
      lab.must('sh', '-ec', damage)
      const mended = damage === ':' || damage.startsWith('rm') || damage.includes('restore')
      if (mended) expect(check(lab, one)).toMatchObject({ status: 0 })
      else expectFault(check(lab, one), { code: 103, about: /10\.9\.0\.2/ })
      for (let time = 0; time < 2; time++) del(lab, one)
      expect(saved(lab).filter((line) => /pod-a|10\.9\.0\.2\b|fd00:9::2\b/.test(line))).toEqual([])
      if (mended) expect(check(lab, other)).toMatchObject({ status: 0 })
      del(lab, other)
      expect(leftovers(lab, 'CNI-', ...marksOf(one, other))).toEqual([])
    })

    test('two interfaces of one container share a chain, and each goes alone', async () => {
      const lab = await openLabWith(executable, kind)
      const plain = dualStack({ ipMasqBackend: 'iptables', ipam: { routes: [] } })
      const [one, two] = [add(lab, 'a', plain), add(lab, 'a', plain, { ifname: 'eth1' })]
      for (const each of [one, two]) expect(check(lab, each)).toMatchObject({ status: 0 })
      del(lab, one)
      expect(check(lab, two)).toMatchObject({ status: 0 })
      del(lab, two)
      expect(leftovers(lab, 'CNI-')).toEqual([])
    })

    test('20 ADDs at once, then 20 DELs at once', async () => {
      const lab = await openLabWith(executable, kind)
      lab.must('sh', '-ec', 'for i in $(seq 0 19); do ip netns add n$i; done')
      const all = (verb: string) =>
        Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            startPatiently(lab, verb, { id: `pod-n${i}`, netns: `n${i}`, conf: config }),
          ),
        )
      for (const { status, stdout } of await all('ADD')) expect(status, stdout).toBe(0)
      expect(saved(lab).filter((line) => line.startsWith('-A POSTROUTING'))).toHaveLength(40)
      for (const { status, stdout } of await all('DEL')) expect(status, stdout).toBe(0)
      expect(leftovers(lab, 'CNI-')).toEqual([])
    })

    test('GC removes the rules of those that the list does not name', async () => {
      const lab = await openLabWith(executable, kind)
      const [one, two] = [add(lab, 'a', config), add(lab, 'b', config)]
      const list = [{ containerID: two.id, ifname: 'eth0' }]
      const collect = { conf: { ...config, 'cni.dev/valid-attachments': list } }
      expect(callPlugin(lab, 'GC', collect)).toMatchObject({ status: 0, stdout: '' })
      expect(saved(lab).filter((line) => line.includes(one.id))).toEqual([])
      expect(check(lab, two)).toMatchObject({ status: 0 })
    })

    test('a container that starts again under its ID leaves no rule of its former life', async () => {
      const lab = await openLabWith(executable, kind)
      const one = add(lab, 'a', config)
      lab.must('ip', 'netns', 'del', 'a')
      const again = add(lab, 'a2', config, { id: one.id })
      expect(saved(lab).filter((line) => line.startsWith('-A POSTROUTING'))).toHaveLength(2)
      expect(check(lab, again)).toMatchObject({ status: 0 })
      del(lab, again)
      expect(leftovers(lab, 'CNI-', ...marksOf(one))).toEqual([])
    })
  })

  test('while somebody holds the lock of iptables, ADD gives up in time and takes all back', async () => {
    const lab = await openLabWith(executable, 'legacy')
    const before = snapshot(lab)
    lab.netns('a')
    const empty = { ...before, network: { ...before.network, a: snapshot(lab).network.a } }
    await holdLock(lab, '/run/xtables.lock')
    const done = callPlugin(lab, 'ADD', { id: 'pod-a', netns: 'a', conf: config })
    expectFault(done, { code: 11, about: /\/run\/xtables\.lock/ })
    const after = snapshot(lab)
    expect(after.network.a).toEqual(empty.network.a)
    expect(addresses(lab, 'lo')).toEqual(['127.0.0.1/8', '::1/128'])
    expect(leftovers(lab, 'CNI-', 'pod-a', '10.9.0.2')).toEqual([])
  })

  test('without nft, iptables does it, and the log is told; STATUS agrees', async () => {
    const lab = await openLab(executable)
    hide(lab, 'nft')
    const open = dualStack()
    expect(callPlugin(lab, 'STATUS', { conf: open })).toMatchObject({ status: 0, stdout: '' })
    const one = add(lab, 'a', open)
    expect(saved(lab)).toHaveLength(8)
    const told = callPlugin(lab, 'ADD', { id: 'pod-b', netns: lab.netns('b'), conf: open })
    expect(told).toMatchObject({ status: 0, stderr: expect.stringMatching(/nft is missing.*iptables/) })
    expect(check(lab, one)).toMatchObject({ status: 0, stdout: '' })
    del(lab, one)
    expectFault(callPlugin(lab, 'STATUS', { conf: { ...open, ipMasqBackend: 'nftables' } }), { code: 50, about: /nft/ })
    const asked = { id: 'pod-c', netns: lab.netns('c'), conf: { ...open, ipMasqBackend: 'nftables' } }
    expectFault(callPlugin(lab, 'ADD', asked), { code: 104, about: /nft/ })
  })

  test('asked for and missing, STATUS and ADD say so, and nothing is made', async () => {
    const lab = await openLab(executable)
    hide(lab, 'iptables')
    expectFault(callPlugin(lab, 'STATUS', { conf: config }), { code: 50, about: /iptables/ })
    const done = callPlugin(lab, 'ADD', { id: 'pod-a', netns: lab.netns('a'), conf: config })
    expectFault(done, { code: 104, about: /iptables/ })
    expect(lab.ip('-j link show').map(({ ifname }: Json) => ifname)).not.toContain(BRIDGE)
    expect(leftovers(lab)).toEqual([])
  })
})
