/** Doctor and repair after the configuration was changed, or taken away, under living pods. */
import { expect, test } from 'vitest'
import { end, putConf, tool, toolJson } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { type Json, openLab } from './lab.ts'
import { snapshot, store } from './observe.ts'
import { add, BRIDGE, conf } from './plugin.ts'

forEachExecutable((executable) => {
  test('a network whose file is gone is told while it has pods; what is dead of it can be removed', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    putConf(lab, conf({ name: 'u', bridge: 'br-u', ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } }), '20-u.conflist')
    add(lab, 'a')
    lab.must('rm', '/etc/cni/net.d/10-t.conflist')
    const doctor = () => toolJson(lab, 'doctor').findings
    expect(doctor()).toMatchObject([
      { check: 'conf-gone', level: 'error', network: 't', fix: expect.stringMatching(/leases t$/) },
    ])
    expect(tool(lab, 'gc', 't').stdout).toContain('nothing is dead')
    end(lab, 'a')
    const [gone] = doctor()
    expect(gone).toMatchObject({ check: 'conf-gone', level: 'warning', fix: expect.stringMatching(/gc t --apply$/) })
    lab.must('sh', '-c', gone.fix)
    expect(doctor()).toEqual([])
    expect(store(lab)).toEqual({})
    expect(lab.must('nft', 'list', 'ruleset')).not.toContain('10.9.0.2')
  })

  test('pods of a subnet or a bridge that the configuration had before are left as they are', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    const other = { ipam: { ranges: [[{ subnet: '10.7.0.0/24' }]] } }
    putConf(lab, conf(other))
    expect(toolJson(lab, 'doctor').findings).toEqual([])
    putConf(lab, conf({ bridge: 'br-u' }))
    const { findings } = toolJson(lab, 'doctor')
    const fix = 'vi /etc/cni/net.d/10-t.conflist  # "bridge": "br-t", as long as they live'
    expect(findings).toMatchObject([{ check: 'bridge-changed', safe: false, fix }])
    const before = snapshot(lab)
    expect(tool(lab, 'repair').stdout).toContain('nothing to repair')
    expect(snapshot(lab)).toEqual(before)
    lab.must('ip', 'addr', 'del', '10.9.0.1/24', 'dev', BRIDGE)
    expect(toolJson(lab, 'repair').networks[0].steps).toMatchObject([{ what: 'gateway 10.9.0.1/24 on br-t' }])
    lab.must('ip', 'netns', 'exec', 'a', 'ping', '-nqc1', '-W2', '10.9.0.1')
  })

  test('pods of a VLAN that the configuration had before are left in it', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    putConf(lab, conf({ vlan: 100 }))
    const told = () =>
      toolJson(lab, 'doctor').findings.filter(({ check }: Json) => !/^(kernel|bridge)-vlans$/.test(check))
    const what = '1 living pod came to no VLAN of br-t, and the configuration says VLAN 100'
    const fix = 'vi /etc/cni/net.d/10-t.conflist  # without "vlan", as long as they live'
    expect(told()).toMatchObject([{ check: 'vlan-changed', safe: false, what, fix }])
    const before = snapshot(lab)
    expect(tool(lab, 'repair').stdout).toContain('nothing to repair')
    expect(snapshot(lab)).toEqual(before)
    // Of an older release's entry nobody knows, and the configuration counts.
    lab.must('sh', '-c', `sed -i 's/"vlan":0,//' $(grep -l '"done":true' /run/pontoon/t/*)`)
    expect(told().map(({ check }: Json) => check)).not.toContain('vlan-changed')
  })

  test('what was changed in the configuration is told as that, once for all pods, and can be had', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    for (const name of ['a', 'b']) add(lab, name)
    const mended = (keys: Json, check: string) => {
      putConf(lab, conf(keys))
      const { findings } = toolJson(lab, 'doctor')
      expect(findings.map((finding: Json) => finding.check)).toEqual([check])
      expect(findings[0].why).not.toContain('cut off')
      lab.must('sh', '-c', findings[0].fix)
      expect(toolJson(lab, 'doctor').findings).toEqual([])
    }
    mended({ mtu: 1400 }, 'pod-mtu')
    mended({ mtu: 1400, hairpinMode: true }, 'port-settings')
    mended({ mtu: 1400 }, 'port-settings')
    mended({ mtu: 1400, promiscMode: true }, 'bridge-wrong')
  })

  test('an address of its own former subnet is in no ADD’s way, and not told', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    const one = add(lab, 'a')
    expect(one.result.ips).toHaveLength(1)
    lab.must('ip', 'netns', 'del', 'a')
    tool(lab, 'gc', '--apply')
    putConf(lab, conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/16', gateway: '10.9.0.3' }]] } }))
    expect(toolJson(lab, 'doctor').findings).toEqual([])
  })
})
