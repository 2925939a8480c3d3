import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Executable, forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { addresses, leftovers } from './observe.ts'
import { ping } from './ping.ts'
import { add, addressesOf, BRIDGE, callPlugin, check, conf, del, expectFault, startPlugin } from './plugin.ts'
import { REFERENCE } from './reference.ts'
import { allEnded, until } from './until.ts'

const STATIC = {
  type: 'static',
  addresses: [
    { address: '10.7.0.5/24', gateway: '10.7.0.1' },
    { address: 'fd00:7::5/64', gateway: 'fd00:7::1' },
  ],
  routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
  dns: { nameservers: ['10.7.0.53'] },
}

const withIpam = (ipam: Json, keys: Json = {}): Json => ({ ...conf(keys), ipam })

/** An IPAM plugin of our own: writes down each call, and does for each verb what the script says. */
function stub(lab: Lab, script: string): void {
  const text = `#!/bin/sh
stdin=$(cat)
link=$(nsenter --net="$CNI_NETNS" ip -br addr show dev "$CNI_IFNAME" 2>/dev/null | tr -s ' ')
echo "$CNI_COMMAND $CNI_CONTAINERID $CNI_IFNAME args=$CNI_ARGS link=$link" >> /run/calls
echo "$stdin" > /run/stdin.$CNI_COMMAND
echo "note of the stub" >&2
case $CNI_COMMAND in ${script} esac`
  writeFileSync(`${lab.root}/opt/cni/bin/stub`, text, { mode: 0o755 })
}

const RESULT = '{"cniVersion":"1.1.0","ips":[{"address":"10.7.0.9/24"}]}'
const GIVES = `ADD) echo '${RESULT}' ;;`
const calls = (lab: Lab): string[] =>
  lab.must('sh', '-c', 'cat /run/calls 2>/dev/null || true').split('\n').filter(Boolean)
const verbs = (lab: Lab): string[] => calls(lab).map((line) => line.split(' ')[0] ?? '')

async function openStubLab(executable: Executable, script: string): Promise<Lab> {
  const lab = await openLab(executable)
  stub(lab, script)
  return lab
}

forEachExecutable((executable) => {
  test('with the static plugin a pod gets both families, routes, gateways, masquerade and DNS, and gives all back', async () => {
    const lab = await openLab(executable)
    const call = { path: `/opt/cni/bin:${REFERENCE}` }
    const one = add(lab, 'a', withIpam(STATIC), call)
    expect(addressesOf(one.result)).toEqual(['10.7.0.5', 'fd00:7::5'])
    expect(one.result.interfaces).toHaveLength(3)
    expect(one.result.ips.map((ip: Json) => ip.interface)).toEqual([2, 2])
    expect(one.result.dns).toEqual({ nameservers: ['10.7.0.53'] })
    expect(addresses(lab, BRIDGE)).toEqual(['10.7.0.1/24', 'fd00:7::1/64'])
    expect(ping(lab, 'a', '10.7.0.1')).toBe(true)
    expect(lab.must('nft', 'list', 'ruleset')).toContain('10.7.0.5')
    expect(check(lab, one, call)).toMatchObject({ status: 0, stdout: '' })
    lab.must('nft', 'flush', 'ruleset')
    expectFault(check(lab, one, call), { code: 103, about: /masquerade/ })
    del(lab, one, call)
    del(lab, one, call)
    expect(leftovers(lab, 'pod-a', '10.7.0.5', 'fd00:7::5')).toEqual([])
  })

  test('the plugin gets the same environment and the whole configuration, and the interface is there before it runs', async () => {
    const lab = await openStubLab(executable, GIVES)
    const config = withIpam({ type: 'stub', own: { key: [1] } }, { unknown: 'key' })
    const one = add(lab, 'a', config, { args: 'IgnoreUnknown=1;FOO=bar' })
    expect(calls(lab)[0]).toMatch(/^ADD pod-a eth0 args=IgnoreUnknown=1;FOO=bar link=eth0@\S+ UP fe80/)
    expect(JSON.parse(lab.must('cat', '/run/stdin.ADD'))).toEqual(config)
    expect(one.result.ips).toEqual([{ address: '10.7.0.9/24', gateway: '10.7.0.1', interface: 2 }])
    del(lab, one)
    expect(calls(lab)[1]).toMatch(/^DEL pod-a eth0 .*link=eth0@\S+ UP fe80/)
  })

  test('its words on stderr reach the caller', async () => {
    const lab = await openStubLab(executable, GIVES)
    const done = callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('a'), conf: withIpam({ type: 'stub' }) })
    expect(done).toMatchObject({ status: 0, stderr: expect.stringContaining('note of the stub') })
  })

  test('DEL without the namespace, STATUS, CHECK and GC reach it', async () => {
    const lab = await openStubLab(executable, GIVES)
    const config = withIpam({ type: 'stub' })
    const one = add(lab, 'a', config)
    expect(check(lab, one)).toMatchObject({ status: 0, stdout: '' })
    expect(callPlugin(lab, 'STATUS', { conf: config })).toMatchObject({ status: 0, stdout: '' })
    lab.must('ip', 'netns', 'del', 'a')
    del(lab, one, { netns: '' })
    const list = { ...config, 'cni.dev/valid-attachments': [] }
    expect(callPlugin(lab, 'GC', { conf: list })).toMatchObject({ status: 0, stdout: '' })
    expect(verbs(lab)).toEqual(['ADD', 'CHECK', 'STATUS', 'DEL', 'GC'])
    expect(leftovers(lab, 'pod-a', '10.7.0.9')).toEqual([])
  })

  describe('when it fails, its error is told, it gets its DEL, and nothing is left', () => {
    const failing = [
      {
        name: 'with an error object',
        script: `ADD) echo '{"cniVersion":"1.1.0","code":142,"msg":"no lease","details":"none"}'; exit 1 ;;`,
        want: { code: 142, about: /no lease/ },
      },
      {
        name: 'with garbage',
        script: 'ADD) echo oops; exit 3 ;;',
        want: { code: 106, about: /stub.*status 3.*oops/s },
      },
      { name: 'with garbage and status 0', script: 'ADD) echo oops ;;', want: { code: 106, about: /no result/ } },
      { name: 'with nothing and status 0', script: 'ADD) ;;', want: { code: 106, about: /no result/ } },
      { name: 'without an address', script: `ADD) echo '{"ips":[]}' ;;`, want: { code: 106, about: /no address/ } },
      {
        name: 'with an address that is none',
        script: `ADD) echo '{"cniVersion":"1.1.0","ips":[{"address":"10.7.0.9"}]}' ;;`,
        want: { code: 106, about: /invalid address/ },
      },
      { name: 'killed', script: 'ADD) kill -9 $$ ;;', want: { code: 106, about: /status 137/ } },
    ]
    test.each(failing)('$name', async ({ script, want }) => {
      const lab = await openStubLab(executable, script)
      const call = { id: 'x', netns: lab.netns('a'), conf: withIpam({ type: 'stub' }) }
      expectFault(callPlugin(lab, 'ADD', call), want)
      expect(verbs(lab)).toEqual(['ADD', 'DEL'])
      expect(leftovers(lab, 'x', '10.7.0.9')).toEqual([])
      expect(lab.ip('-j link show type bridge')).toEqual([])
    })
  })

  test('when it is missing, ADD says where it was looked for and leaves nothing; DEL cleans up all the same', async () => {
    const lab = await openLab(executable)
    const config = withIpam({ type: 'nowhere' })
    const call = { id: 'x', netns: lab.netns('a'), conf: config, path: '/opt/cni/bin:/srv' }
    expectFault(callPlugin(lab, 'ADD', call), { code: 106, about: /nowhere.*\/opt\/cni\/bin, \/srv/s })
    expect(leftovers(lab, 'x')).toEqual([])
    stub(lab, GIVES)
    const one = add(lab, 'b', withIpam({ type: 'stub' }))
    lab.must('rm', '/opt/cni/bin/stub')
    expectFault(callPlugin(lab, 'DEL', { id: one.id, netns: 'b', conf: one.conf }), { code: 106, about: /missing/ })
    expect(leftovers(lab, 'pod-b', '10.7.0.9')).toEqual([])
    expectFault(callPlugin(lab, 'STATUS', { conf: one.conf }), { about: /missing/ })
  })

  test('its error in STATUS, CHECK and GC is the answer', async () => {
    const fails = `echo '{"cniVersion":"1.1.0","code":50,"msg":"the pool is empty"}'; exit 1`
    const lab = await openStubLab(executable, `${GIVES} DEL) ;; *) ${fails} ;;`)
    const one = add(lab, 'a', withIpam({ type: 'stub' }))
    const want = { code: 50, about: /the pool is empty/ }
    expectFault(check(lab, one), want)
    expectFault(callPlugin(lab, 'STATUS', { conf: one.conf }), want)
    expectFault(callPlugin(lab, 'GC', { conf: { ...one.conf, 'cni.dev/valid-attachments': [] } }), want)
    expect(leftovers(lab, 'pod-a', '10.7.0.9')).toEqual([])
  })

  test('it ends with a plugin that is killed', async () => {
    const lab = await openStubLab(executable, 'ADD) exec sleep 300 ;;')
    lab.netns('a')
    const call = { id: 'x', netns: 'a', conf: withIpam({ type: 'stub' }) }
    const killed = startPlugin(lab, 'ADD', call)
    const running = (word: string) => lab.processes().find((line) => line.includes(word))
    await until(
      () => running('sleep 300') !== undefined,
      () => lab.processes().join('\n'),
    )
    process.kill(Number.parseInt(running('/opt/cni/bin/pontoon') ?? '', 10), 'SIGKILL')
    expect((await killed).status).toBe(137)
    await allEnded(lab)
    expect(calls(lab)).toHaveLength(1)
    stub(lab, GIVES)
    del(lab, { id: 'x', netns: 'a', ifname: 'eth0', conf: call.conf, result: undefined, ms: 0 })
    expect(leftovers(lab, 'x')).toEqual([])
  })
})
