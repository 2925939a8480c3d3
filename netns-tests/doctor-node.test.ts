/** Doctor on nodes where it is not the network's own things that are broken. */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Break } from './breaks.ts'
import { BREAKS_OF_THE_NODE, BREAKS_WITHOUT_PODS } from './breaks-node.ts'
import { putConf, tool, toolJson, toolWith } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { snapshot } from './observe.ts'
import { add, BRIDGE, conf, dualStack } from './plugin.ts'

/** It is told with a command, in JSON and for people, and the command mends it. */
function expectMended(lab: Lab, broken: Break): void {
  expect(tool(lab, 'doctor')).toMatchObject({ status: 0, stdout: expect.stringContaining('all is well') })
  broken.damage(lab)
  const before = snapshot(lab)
  const { findings } = toolJson(lab, 'doctor')
  expect(snapshot(lab)).toEqual(before)
  expect(findings.map(({ check }: Json) => check)).toEqual([broken.check])
  expect(findings[0].fix).toMatch(broken.fix)
  expect(tool(lab, 'doctor')).toMatchObject({ status: 1, stdout: expect.stringContaining(findings[0].fix) })
  // To install a package is not for a test.
  if (!findings[0].fix.endsWith(' containernetworking-plugins')) lab.must('sh', '-c', findings[0].fix)
  broken.follow?.(lab)
  expect(tool(lab, 'doctor')).toMatchObject({ status: 0, stdout: expect.stringContaining('all is well') })
}

forEachExecutable((executable) => {
  test.each(BREAKS_OF_THE_NODE)('$name: is told with the command that mends it', async (broken) => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    expectMended(lab, broken)
  })

  test.each(BREAKS_WITHOUT_PODS)('$name: is told before the first pod comes', async (broken) => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    expectMended(lab, broken)
  })

  test('an executable that is not where runtimes look, or another Pontoon there, is told; install mends it', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    lab.must('sh', '-c', 'mkdir /run/x; cp /opt/cni/bin/pontoon /run/x; umount /opt/cni/bin/pontoon')
    const doctor = () => JSON.parse(lab.run(['/run/x/pontoon', 'doctor', '--json']).stdout).findings
    const [missing, ...others] = doctor()
    expect(others).toEqual([])
    expect(missing).toMatchObject({ check: 'plugin-missing', fix: '/run/x/pontoon install' })
    const told = lab.run(['/run/x/pontoon', 'doctor'], { env: { CNI_PATH: '/nowhere:/run/x' } })
    expect(told).toMatchObject({ status: 0, stdout: expect.stringContaining('all is well') })
    lab.must('sh', '-c', missing.fix)
    expect(doctor()).toEqual([])
    const old = '#!/bin/sh\necho "pontoon 0.0.1 (quickjs-ng 0.9.0, commit 0123456789ab)"\n'
    lab.must(
      'sh',
      '-c',
      `printf '%s' '${old}' >/opt/cni/bin/old; mv /opt/cni/bin/old /opt/cni/bin/pontoon; chmod +x $_`.replace(
        '$_',
        '/opt/cni/bin/pontoon',
      ),
    )
    const [other] = doctor()
    expect(other).toMatchObject({ check: 'plugin-other', level: 'warning', what: expect.stringContaining('0.0.1') })
    lab.must('sh', '-c', other.fix)
    expect(doctor()).toEqual([])
  })

  test('two pods with one hardware address are told, the later one to be made anew', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    const one = add(lab, 'a', conf(), { args: 'K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web' })
    lab.must('sleep', '0.01')
    add(lab, 'b', conf(), { args: 'K8S_POD_NAMESPACE=shop;K8S_POD_NAME=db' })
    expect(toolJson(lab, 'doctor').findings).toEqual([])
    lab.must('ip', '-n', 'b', 'link', 'set', 'eth0', 'address', one.result.interfaces[2].mac)
    expect(toolJson(lab, 'doctor').findings).toMatchObject([
      {
        check: 'mac-duplicate',
        fix: 'kubectl delete pod --namespace shop db',
        what: expect.stringMatching(/^shop\/db and shop\/web /),
      },
    ])
  })

  test('a file in the place of the lock is removed as a file', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    lab.must('touch', '-d', '-1 minute', '/var/lib/cni/networks/t/lock.lock')
    expect(toolJson(lab, 'doctor', '--fix')).toMatchObject({ findings: [], fixed: [{ status: 0 }] })
  })

  test('without ip nobody’s rules are called orphans', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf({ macspoofchk: true }))
    add(lab, 'a', conf({ macspoofchk: true }))
    lab.must('sh', '-c', 'rm -r /run/pontoon; mount --bind /dev/null "$(readlink -f "$(command -v nsenter)")"')
    const { findings } = toolJson(lab, 'doctor')
    expect(findings.map(({ check }: Json) => check)).toEqual(['tool-missing'])
  })

  test('a node that refuses in its last rule, but knows the network of all pods, is well', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    lab.must('iptables', '-A', 'FORWARD', '-s', '10.0.0.0/8', '-j', 'ACCEPT')
    lab.must('iptables', '-A', 'FORWARD', '-j', 'REJECT')
    expect(toolJson(lab, 'doctor').findings).toEqual([])
  })

  test('a setting that others need comes first, so that one --fix is enough', async () => {
    const lab = await openLab(executable)
    putConf(lab, dualStack())
    add(lab, 'a', dualStack())
    lab.must('sh', '-c', 'echo 1 >/proc/sys/net/ipv6/conf/br-t/disable_ipv6')
    const { findings, fixed } = toolJson(lab, 'doctor', '--fix')
    expect(fixed.map(({ status }: Json) => status)).toEqual([0, 0])
    expect(findings).toEqual([])
  })

  test('the settings of a bridge that is gone are not told beside it', async () => {
    const lab = await openLab(executable)
    putConf(lab, dualStack())
    add(lab, 'a', dualStack())
    lab.must('ip', 'link', 'del', BRIDGE)
    expect(toolJson(lab, 'doctor').findings).toMatchObject([{ check: 'bridge-gone' }])
  })

  test('who is not root is told so, and what can be seen all the same', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    const asNobody = (...words: readonly string[]) =>
      lab.run(['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '/opt/cni/bin/pontoon', ...words])
    const { findings } = JSON.parse(asNobody('doctor', '--json').stdout)
    expect(findings).toMatchObject([{ check: 'rights', fix: 'sudo /opt/cni/bin/pontoon doctor' }])
    expect(asNobody('doctor').stdout).toMatch(/^t {2}can’t be read$/m)
    expect(asNobody('leases')).toMatchObject({ status: 1, stderr: expect.stringMatching(/EACCES.*sudo/) })
  })

  test('a folder that is not there, a word that is no network, a file that is missing', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    for (const command of ['doctor', 'leases', 'topology', 'gc', 'repair']) {
      const done = tool(lab, command, '--conf-dir', '/nowhere')
      expect(done).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('no folder /nowhere') })
    }
    expect(tool(lab, 'doctor', 't').stdout).toContain('all is well')
    expect(tool(lab, 'doctor', 'x')).toMatchObject({ status: 1, stderr: expect.stringContaining('known: t') })
    const { findings } = toolJson(lab, 'doctor', '/etc/cni/net.d/11-t.conflist')
    expect(findings).toMatchObject([{ check: 'conf-invalid', fix: 'ls -l /etc/cni/net.d' }])
  })

  test('a file that can’t be read stops containerd where it comes first', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    writeFileSync(`${lab.root}/etc/cni/net.d/05-x.conflist`, '{')
    const { findings } = toolJson(lab, 'doctor')
    expect(findings.map(({ check }: Json) => check)).toEqual(['conf-invalid', 'conf-first'])
    expect(findings[1]).toMatchObject({ level: 'error', why: expect.stringContaining('containerd stops') })
  })

  test('without UTF-8 everything is told in ASCII, but JSON and pictures stay as they are', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    const inC = (...words: readonly string[]) => toolWith(lab, { env: { LC_ALL: 'C' } }, ...words)
    for (const words of [['leases'], ['topology'], ['doctor'], ['doctor', '--help'], ['nonsense']]) {
      const { stdout, stderr } = inC(...words)
      expect(stdout + stderr).toMatch(/^[\n -~]+$/)
    }
    expect(inC('leases').stdout).toContain('#...................')
    expect(inC('topology').stdout).toContain('`- network t')
    expect(inC('topology', '--format', 'svg').stdout).toContain('·')
    expect(tool(lab, 'leases').stdout).toContain('█░')
  })
})
