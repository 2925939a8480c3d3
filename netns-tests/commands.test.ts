/** The operator's commands on a node that lives, and on one that somebody has broken. */
import { describe, expect, test } from 'vitest'
import { end, putConf, tool, toolJson } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { openLab } from './lab.ts'
import { age, packetFilter, snapshot, store } from './observe.ts'
import { add, BRIDGE, check, conf, dualStack } from './plugin.ts'

forEachExecutable((executable) => {
  describe('leases', () => {
    test('tells the living, the dead and the unknown, and how full the range is', async () => {
      const lab = await openLab(executable)
      putConf(lab, conf())
      const pod = 'K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web;K8S_POD_INFRA_CONTAINER_ID=x'
      const live = add(lab, 'a', conf(), { args: pod })
      add(lab, 'b')
      end(lab, 'b')
      lab.must('sh', '-c', 'printf "other\\r\\neth0" >/var/lib/cni/networks/t/10.9.0.77')
      const { networks } = toolJson(lab, 'leases', 't')
      const [net] = networks
      expect(
        net.leases.map(({ address, state, pod }: { address: string; state: string; pod: string }) => [
          address,
          state,
          pod,
        ]),
      ).toEqual([
        [live.result.ips[0].address.split('/')[0], 'live', 'shop/web'],
        ['10.9.0.3', 'dead', ''],
        ['10.9.0.77', 'unknown', ''],
      ])
      expect(net.ranges).toEqual([
        { set: 0, range: '10.9.0.1-10.9.0.254', subnet: '10.9.0.0/24', capacity: 253, used: 3 },
      ])
      const text = tool(lab, 'leases', 't').stdout
      expect(text).toMatch(/10\.9\.0\.2 +live +shop\/web +pod-a +eth0 +veth\w+ +\d+s +\/run\/netns\/a/)
      expect(text).toContain('█░')
    })

    test('a network that nobody knows is a failure, on stderr', async () => {
      const lab = await openLab(executable)
      expect(tool(lab, 'leases', 'nope')).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/no network "nope"/),
      })
      expect(tool(lab, 'leases', '--nope').status).toBe(2)
    })
  })

  describe('gc', () => {
    test('lists what is dead, removes nothing; --apply removes it', async () => {
      const lab = await openLab(executable)
      putConf(lab, conf())
      const live = add(lab, 'a')
      add(lab, 'b')
      end(lab, 'b')
      const before = snapshot(lab)
      const listed = tool(lab, 'gc')
      expect(listed.stdout).toMatch(/pod-b\/eth0 +10\.9\.0\.3/)
      expect(snapshot(lab)).toEqual(before)
      expect(tool(lab, 'gc', '--apply')).toMatchObject({ status: 0 })
      expect(Object.keys(store(lab))).toEqual(['10.9.0.2'])
      expect(check(lab, live)).toMatchObject({ status: 0 })
      expect(tool(lab, 'gc', '--apply').stdout).toContain('nothing is dead')
    })

    test('--valid: what is not in the list goes; a list that is not understood removes nothing', async () => {
      const lab = await openLab(executable)
      putConf(lab, conf())
      add(lab, 'a')
      add(lab, 'b')
      lab.must('sh', '-c', 'echo "{}" >/run/broken; echo \'[{"containerID": "pod-a", "ifname": "eth0"}]\' >/run/valid')
      expect(tool(lab, 'gc', 't', '--valid', '/run/broken', '--apply').status).toBe(1)
      expect(Object.keys(store(lab))).toHaveLength(2)
      expect(tool(lab, 'gc', 't', '--valid', '/run/valid', '--apply').status).toBe(0)
      expect(Object.keys(store(lab))).toEqual(['10.9.0.2'])
      expect(lab.ip('-j link show type veth')).toHaveLength(1)
    })

    test('--valid with an empty list: what the pods had in common goes with them', async () => {
      const lab = await openLab(executable)
      putConf(lab, conf())
      add(lab, 'a')
      lab.must('sh', '-c', 'echo "[]" >/run/none')
      const before = snapshot(lab)
      expect(tool(lab, 'gc', 't', '--valid', '/run/none').stdout).toMatch(/its rules and its bridge[\s\S]*--apply does/)
      expect(snapshot(lab)).toEqual(before)
      expect(tool(lab, 'gc', 't', '--valid', '/run/none', '--apply').status).toBe(0)
      expect(Object.keys(store(lab))).toEqual([])
      expect(lab.run(['ip', 'link', 'show', BRIDGE]).status).toBe(1)
      expect(lab.must('nft', 'list', 'ruleset')).not.toContain('cni_plugins_masquerade')
    })
  })

  describe('repair', () => {
    const damages: { name: string; keys?: object; damage: string }[] = [
      { name: 'a flushed packet filter', damage: 'nft flush ruleset' },
      { name: 'flushed chains', damage: 'nft flush table inet cni_plugins_masquerade' },
      { name: 'a rule that is gone', damage: 'nft flush chain inet cni_plugins_masquerade masq_checks' },
      { name: 'no way to the rules', damage: 'nft flush chain inet cni_plugins_masquerade postrouting' },
      { name: 'a gateway that is gone', damage: `ip addr flush dev ${BRIDGE} scope global` },
      {
        name: 'forwarding that is off',
        damage: 'echo 0 >/proc/sys/net/ipv4/ip_forward; echo 0 >/proc/sys/net/ipv6/conf/all/forwarding',
      },
      { name: 'a bridge that is down', damage: `ip link set ${BRIDGE} down` },
      { name: 'a bridge that is gone', damage: `ip link del ${BRIDGE}` },
      {
        name: 'a port that was taken off',
        damage: 'ip link set "$(ls /sys/class/net | grep ^veth | head -n 1)" nomaster',
      },
      {
        name: 'other settings of ports',
        keys: { hairpinMode: true },
        damage:
          'for dev in /sys/class/net/veth*; do ip link set "$(basename $dev)" type bridge_slave hairpin off isolated on; done',
      },
      { name: 'spoof checks that were flushed', keys: { macspoofchk: true }, damage: 'nft flush ruleset' },
      {
        name: 'iptables that were flushed',
        keys: { ipMasqBackend: 'iptables' },
        damage: 'iptables -t nat -F; iptables -t nat -X; ip6tables -t nat -F; ip6tables -t nat -X',
      },
    ]

    test.each(damages)('$name: all is as ADD made it, and once more changes nothing', async ({ keys = {}, damage }) => {
      const lab = await openLab(executable)
      const config = dualStack(keys)
      putConf(lab, config)
      const pods = ['a', 'b', 'c'].map((name) => add(lab, name, config))
      const filter = packetFilter(lab).toSorted()
      lab.must('sh', '-c', damage)
      expect(pods.some((pod) => check(lab, pod).status !== 0)).toBe(true)
      const dry = snapshot(lab)
      expect(tool(lab, 'repair', 't', '--dry-run').stdout).toContain('would make')
      expect(snapshot(lab)).toEqual(dry)
      const done = tool(lab, 'repair', 't')
      expect(done, done.stdout + done.stderr).toMatchObject({ status: 0, stderr: '' })
      for (const pod of pods) expect(check(lab, pod)).toMatchObject({ status: 0 })
      expect(packetFilter(lab).toSorted()).toEqual(filter)
      const repaired = snapshot(lab)
      expect(tool(lab, 'repair', 't')).toMatchObject({ status: 0, stdout: expect.stringMatching(/nothing to repair/) })
      expect(snapshot(lab)).toEqual(repaired)
    })

    test('a pod without its host end is told of, and the others are repaired', async () => {
      const lab = await openLab(executable)
      putConf(lab, conf())
      const [a, b] = [add(lab, 'a'), add(lab, 'b')]
      lab.must('ip', 'link', 'del', a.result.interfaces[1].name)
      lab.must('nft', 'flush', 'ruleset')
      age(lab)
      const done = tool(lab, 'repair', 't')
      expect(done).toMatchObject({
        status: 1,
        stdout: expect.stringMatching(/pod-a: its host end veth\w+ is gone; recreate the pod/),
      })
      expect(check(lab, b)).toMatchObject({ status: 0 })
    })
  })
})
