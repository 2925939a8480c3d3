/** Doctor on nodes that were broken: it says so with a command, the command mends it, and doctor is quiet. */
import { expect, test } from 'vitest'
import { BREAKS } from './breaks.ts'
import { putConf, tool, toolJson } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { type Json, openLab } from './lab.ts'
import { snapshot, store } from './observe.ts'
import { ping } from './ping.ts'
import { add, BRIDGE, check, conf } from './plugin.ts'

forEachExecutable((executable) => {
  test.each(BREAKS)('$name: is told with the command that mends it', async (broken) => {
    const lab = await openLab(executable)
    const config = conf(broken.keys)
    putConf(lab, config)
    add(lab, 'a', config)
    expect(tool(lab, 'doctor')).toMatchObject({ status: 0, stdout: expect.stringContaining('all is well') })
    broken.damage(lab)
    const before = snapshot(lab)
    const { findings } = toolJson(lab, 'doctor')
    expect(snapshot(lab)).toEqual(before)
    const found = findings.find(({ check }: Json) => check === broken.check)
    expect(found, JSON.stringify(findings)).toMatchObject({
      fix: expect.stringMatching(broken.fix),
      network: expect.any(String),
    })
    expect(tool(lab, 'doctor')).toMatchObject({ status: 1, stdout: expect.stringContaining(found.fix) })
    const ran = lab.run(['sh', '-c', found.fix])
    expect(ran, found.fix + ran.stderr).toMatchObject({ status: 0 })
    broken.follow?.(lab)
    expect(tool(lab, 'doctor')).toMatchObject({ status: 0, stdout: expect.stringContaining('all is well') })
  })

  test('two networks with one subnet, and a subnet that the node uses elsewhere, are told', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    putConf(lab, conf({ name: 'u', bridge: 'br-u' }), '20-u.conflist')
    lab.must('sh', '-c', 'ip link add lan type veth peer name out; ip addr add 10.9.0.200/16 dev lan')
    const checks = toolJson(lab, 'doctor').findings.map(({ check, network }: Json) => `${network} ${check}`)
    expect(checks).toEqual(['u subnet-overlap', 't subnet-elsewhere'])
  })

  test('an uplink that takes less than pods send is told', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    lab.must(
      'sh',
      '-c',
      'ip link add lan type veth peer name out; ip addr add 192.0.2.2/24 dev lan; ip link set lan mtu 1400 up; ip link set out up; ip route add default via 192.0.2.1',
    )
    expect(toolJson(lab, 'doctor').findings).toMatchObject([{ check: 'mtu', level: 'warning' }])
    putConf(lab, conf({ mtu: 1400 }))
    expect(tool(lab, 'doctor').status).toBe(0)
  })

  test('--fix does what is safe, says what it did, and leaves the rest to people', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    const one = add(lab, 'a')
    lab.must('sh', '-c', 'nft flush ruleset; echo 0 >/proc/sys/net/ipv4/ip_forward; iptables -P FORWARD DROP')
    const done = tool(lab, 'doctor', '--fix')
    expect(done.status).toBe(1)
    expect(done.stdout).toMatch(/ran sysctl -w net\.ipv4\.ip_forward=1[\s\S]*ran .*pontoon repair t/)
    expect(done.stdout).toMatch(/1 finding; its command is for you to run$/m)
    expect(done.stdout).toContain('iptables -I FORWARD')
    expect(check(lab, one)).toMatchObject({ status: 0 })
    expect(lab.must('iptables', '-S', 'FORWARD')).toBe('-P FORWARD DROP\n')
  })

  test('what went with the bridge is told once, and --fix runs one command for it that does not fail', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    lab.must('ip', 'link', 'del', BRIDGE)
    expect(toolJson(lab, 'doctor').findings).toMatchObject([{ check: 'bridge-gone' }])
    expect(toolJson(lab, 'doctor', '--fix')).toMatchObject({ findings: [], fixed: [{ status: 0 }] })
    expect(ping(lab, 'a', '10.9.0.1')).toBe(true)
  })

  test('a host end that is in the wrong place is told with its pod', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a', conf(), { args: 'K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web' })
    lab.must('sh', '-c', 'ip link set $(basename /sys/class/net/veth*) nomaster')
    expect(toolJson(lab, 'doctor').findings).toMatchObject([
      { what: expect.stringMatching(/^port veth\w+ of shop\/web: /) },
    ])
  })

  test('pods that the index has lost are seen by their labels, and repaired', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    const one = add(lab, 'a', conf(), { args: 'K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web' })
    lab.must('sh', '-c', 'rm -r /run/pontoon; nft flush ruleset; ip link del br-t')
    expect(tool(lab, 'doctor').stdout).toContain('1 pod ')
    expect(toolJson(lab, 'leases').networks[0].leases).toMatchObject([{ pod: 'shop/web', state: 'live' }])
    expect(toolJson(lab, 'doctor').findings.map(({ check }: Json) => check)).toEqual([
      'bridge-gone',
      'masquerade-missing',
    ])
    expect(toolJson(lab, 'doctor', '--fix').findings).toEqual([])
    expect(toolJson(lab, 'topology').networks[0].ports).toMatchObject([
      { owner: 'shop/web', kind: 'pod', addresses: ['10.9.0.2/24'] },
    ])
    expect(check(lab, one)).toMatchObject({ status: 0 })
    expect(ping(lab, 'a', '10.9.0.1')).toBe(true)
  })

  test('what pods of another plugin live by is looked at, too', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    // As if that plugin had made it: no label, no index.
    lab.must('sh', '-c', 'rm -r /run/pontoon; ip link set $(basename /sys/class/net/veth*) alias ""')
    expect(toolJson(lab, 'doctor').findings).toEqual([])
    lab.must(
      'sh',
      '-c',
      'ip link set br-t down; ip addr del 10.9.0.1/24 dev br-t; echo 0 >/proc/sys/net/ipv4/ip_forward',
    )
    expect(toolJson(lab, 'doctor').findings.map(({ check }: Json) => check)).toEqual([
      'bridge-down',
      'forwarding-off',
      'gateway-missing',
    ])
    expect(toolJson(lab, 'doctor', '--fix').findings).toEqual([])
    expect(ping(lab, 'a', '10.9.0.1')).toBe(true)
  })

  test('no name of an interface is a command, where doctor runs what it shows or somebody pastes it', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a', conf(), { ifname: '$(>x)' })
    const inRun = (line: string) => lab.run(['sh', '-c', `cd /run; ${line}`])
    const lose = 'rm /var/lib/cni/networks/t/10.9.0.2'
    inRun(`${lose}; ip -n a link set '$(>x)' down`)
    const { findings } = toolJson(lab, 'doctor')
    expect(findings.map(({ check }: Json) => check)).toEqual(expect.arrayContaining(['lease-lost', 'pod-drift']))
    for (const { fix } of findings) inRun(fix)
    expect(toolJson(lab, 'doctor').findings.map(({ check }: Json) => check)).not.toContain('lease-lost')
    inRun(`${lose}; /opt/cni/bin/pontoon doctor --fix`)
    expect(lab.must('ls', '/run').split('\n')).not.toContain('x')
    expect(store(lab)).toEqual({ '10.9.0.2': 'pod-a\r\n$(>x)' })
  })

  test('missing tools are told, and nothing breaks', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    lab.must(
      'sh',
      '-c',
      'for tool in ip nft; do mount --bind /dev/null "$(readlink -f "$(command -v $tool)")"; done; mount --bind /dev/null "$(readlink -f "$(command -v iptables)")"',
    )
    const { findings } = toolJson(lab, 'doctor')
    expect(findings.map(({ check }: Json) => check)).toEqual(['tool-missing', 'tool-missing'])
    expect(findings[0].fix).toMatch(/ iproute2$/)
  })

  test('a configuration that the plugin would refuse is told in its words', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf({ hairpinMode: true, promiscMode: true }))
    expect(toolJson(lab, 'doctor').findings).toMatchObject([
      { check: 'conf-invalid', what: expect.stringContaining('hairpinMode and promiscMode') },
    ])
    expect(tool(lab, 'doctor', '/nowhere.conflist').stdout).toContain('no such file')
  })
})
