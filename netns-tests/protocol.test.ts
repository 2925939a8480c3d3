import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { openLab } from './lab.ts'
import { leftovers, snapshot, store } from './observe.ts'
import { BRIDGE, type Call, callPlugin, conf, expectFault } from './plugin.ts'

interface Bad {
  name: string
  verb?: string
  call: Call
  code: number
  about?: RegExp
}

const json = (keys: object) => ({ stdin: JSON.stringify({ ...conf(), ...keys }) })
const ipam = (keys: object) => ({ conf: conf({ ipam: keys }) })
const range = (keys: object) => ipam({ ranges: [[{ subnet: '10.9.0.0/24', ...keys }]] })

const environment: Bad[] = [
  { name: 'an unknown command', verb: 'FOO', call: {}, code: 4, about: /FOO/ },
  { name: 'a command in small letters', verb: 'add', call: {}, code: 4, about: /add/ },
  { name: 'no container ID', call: { id: '' }, code: 4, about: /CNI_CONTAINERID/ },
  { name: 'no interface name', call: { ifname: '' }, code: 4, about: /CNI_IFNAME/ },
  { name: 'no namespace', call: { netns: '' }, code: 4, about: /CNI_NETNS/ },
  {
    name: 'several variables missing',
    call: { id: '', netns: '', ifname: '' },
    code: 4,
    about: /CNI_CONTAINERID.*CNI_NETNS.*CNI_IFNAME|CONTAINERID.*IFNAME/,
  },
  { name: 'a container ID that leaves the store', call: { id: '../x' }, code: 4, about: /\.\.\/x/ },
  { name: 'a container ID with a line break', call: { id: 'x\ny' }, code: 4 },
  {
    name: 'an interface name that is too long',
    call: { ifname: 'abcdefghijklmnop' },
    code: 4,
    about: /abcdefghijklmnop|16|15/,
  },
  { name: 'the interface name ..', call: { ifname: '..' }, code: 4 },
  { name: 'an interface name with a slash', call: { ifname: 'a/b' }, code: 4 },
  { name: 'an interface name with a colon', call: { ifname: 'a:b' }, code: 4 },
  { name: 'an interface name with a space', call: { ifname: 'a b' }, code: 4 },
  { name: 'an interface name with a line break', call: { ifname: 'a\nb' }, code: 4 },
  { name: 'an unknown key in CNI_ARGS', call: { args: 'K8S=1' }, code: 4, about: /K8S/ },
  { name: 'a pair without value in CNI_ARGS', call: { args: 'IgnoreUnknown' }, code: 4 },
  { name: 'an address in CNI_ARGS that is none', call: { args: 'IP=10.9.0' }, code: 4, about: /10\.9\.0/ },
]

const documents: Bad[] = [
  { name: 'an empty stdin', call: { stdin: '' }, code: 6 },
  { name: 'a cut document', call: { stdin: '{"name": "t", ' }, code: 6 },
  { name: 'text behind the document', call: { stdin: `${JSON.stringify(conf())} x` }, code: 6 },
  { name: 'an array', call: { stdin: '[]' }, code: 6 },
  { name: 'deep nesting', call: { stdin: `${'['.repeat(200_000)}` }, code: 6 },
  { name: 'null', call: { stdin: 'null' }, code: 7 },
  { name: 'no network name', call: json({ name: '' }), code: 7, about: /name/ },
  { name: 'a network name that leaves the store', call: json({ name: '../t' }), code: 7, about: /name/ },
  { name: 'a network name that is a number', call: json({ name: 7 }), code: 6 },
  { name: 'a cniVersion that is a number', call: json({ cniVersion: 1 }), code: 6 },
  { name: 'a newer cniVersion', call: json({ cniVersion: '9.9.9' }), code: 1, about: /9\.9\.9/ },
  { name: 'half a cniVersion', call: json({ cniVersion: '1.0' }), code: 1 },
  {
    name: 'CHECK of a version without it',
    verb: 'CHECK',
    call: json({ cniVersion: '0.3.1', prevResult: {} }),
    code: 1,
  },
  { name: 'GC of a version without it', verb: 'GC', call: json({ cniVersion: '1.0.0' }), code: 1 },
  { name: 'STATUS of a version without it', verb: 'STATUS', call: json({ cniVersion: '1.0.0' }), code: 1 },
]

const configurations: Bad[] = [
  {
    name: 'a bridge name that is too long',
    call: json({ bridge: 'a-bridge-name-too-long' }),
    code: 7,
    about: /a-bridge-name-too-long/,
  },
  { name: 'a bridge name of two words', call: json({ bridge: 'br0 type dummy' }), code: 7, about: /br0 type dummy/ },
  { name: 'a bridge name of two lines', call: json({ bridge: 'br0\nlink add evil type dummy' }), code: 7 },
  { name: 'an MTU that is text', call: json({ mtu: 'big' }), code: 7, about: /mtu/ },
  { name: 'a negative MTU', call: json({ mtu: -1 }), code: 7, about: /mtu/ },
  { name: 'no ranges', call: ipam({ ranges: [] }), code: 7, about: /range/ },
  { name: 'a subnet that is none', call: range({ subnet: '10.9.0.0/33' }), code: 7, about: /10\.9\.0\.0\/33/ },
  {
    name: 'a range that ends before it starts',
    call: range({ rangeStart: '10.9.0.9', rangeEnd: '10.9.0.5' }),
    code: 7,
    about: /10\.9\.0\.9.*10\.9\.0\.5|10\.9\.0\.5.*10\.9\.0\.9/s,
  },
  { name: 'a range start outside its subnet', call: range({ rangeStart: '10.8.0.9' }), code: 7, about: /10\.8\.0\.9/ },
  { name: 'a gateway of the other family', call: range({ gateway: 'fd00:9::1' }), code: 7, about: /fd00:9::1/ },
  { name: 'a route that is none', call: ipam({ routes: [{ dst: 'there' }] }), code: 7, about: /there/ },
  { name: 'VLAN 4095', call: json({ vlan: 4095 }), code: 7, about: /4095/ },
]

forEachExecutable((executable) => {
  describe.each([
    { group: 'environment', cases: environment },
    { group: 'document', cases: documents },
    { group: 'configuration', cases: configurations },
  ])('a bad $group is answered with one document, and nothing is made', ({ cases }) => {
    test.each(cases)('$name: code $code', async ({ verb = 'ADD', call, code, about }) => {
      const lab = await openLab(executable)
      lab.netns('a')
      const before = snapshot(lab)
      const done = callPlugin(lab, verb, { id: 'x', netns: 'a', ...call })
      expectFault(done, { code, ...(about === undefined ? {} : { about }) })
      expect(snapshot(lab).network).toEqual(before.network)
      expect(leftovers(lab, 'x')).toEqual([])
    })
  })

  test('more than one MiB on stdin is refused', async () => {
    const lab = await openLab(executable)
    const done = callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('a'), conf: conf({ pad: 'x'.repeat(1 << 20) }) })
    expectFault(done)
    expect([5, 6, 7]).toContain(done.json.code)
    expect(store(lab)).toEqual({})
  })

  test('no command: usage on stderr, nothing on stdout', async () => {
    const lab = await openLab(executable)
    for (const env of [{}, { CNI_COMMAND: '' }]) {
      const done = lab.run(['/opt/cni/bin/bridge'], { env })
      expect(done).toMatchObject({ status: 0, stdout: '' })
      expect(done.stderr).toMatch(/CNI/)
      expect(done.stderr).toMatch(/0\.1\.0.*1\.1\.0/)
    }
  })

  test('--version tells name, version, engine and commit', async () => {
    const lab = await openLab(executable)
    const { status, stdout, stderr } = lab.run(['/opt/cni/bin/pontoon', '--version'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const part of [/^pontoon \d+\.\d+\.\d+/, /quickjs|node/, /\b[0-9a-f]{7,40}\b/]) expect(stdout).toMatch(part)
  })

  const asked = [
    { stdin: '{"cniVersion":"1.0.0"}' },
    { stdin: '{"cniVersion":"0.4.0"}' },
    { stdin: '' },
    { stdin: 'no JSON' },
  ]
  test.each(asked)('VERSION, asked with $stdin, names all versions in order and touches nothing', async ({ stdin }) => {
    const lab = await openLab(executable)
    const before = snapshot(lab)
    const done = callPlugin(lab, 'VERSION', { stdin, netns: 'dummy', ifname: 'dummy', path: 'dummy' })
    expect(done.json?.supportedVersions, done.stdout).toEqual([
      '0.1.0',
      '0.2.0',
      '0.3.0',
      '0.3.1',
      '0.4.0',
      '1.0.0',
      '1.1.0',
    ])
    expect(done.status).toBe(0)
    expect(snapshot(lab)).toEqual(before)
  })

  describe.each([
    { how: 'a link', make: 'ln -s /opt/cni/bin/pontoon /run/host-local' },
    { how: 'a hard link', make: 'cp /opt/cni/bin/pontoon /run/p; ln /run/p /run/host-local' },
  ])('called host-local by $how', ({ make }) => {
    test('it plays IPAM: addresses and routes, no interfaces', async () => {
      const lab = await openLab(executable.isFolder ? undefined : executable)
      lab.must('sh', '-ec', executable.isFolder ? 'ln -s /opt/cni/bin/host-local /run/host-local' : make)
      const call: Call = { id: 'x', netns: 'a', exe: '../../../run/host-local', conf: conf({ type: 'bridge' }) }
      lab.netns('a')
      const before = snapshot(lab).network
      const done = callPlugin(lab, 'ADD', call)
      expect(done.json, done.stdout).toEqual({
        cniVersion: '1.1.0',
        ips: [{ address: '10.9.0.2/24', gateway: '10.9.0.1' }],
        routes: [{ dst: '0.0.0.0/0' }],
      })
      expect(store(lab)).toEqual({ '10.9.0.2': 'x\r\neth0' })
      const prevResult = { ...done.json, interfaces: [{ name: BRIDGE }] }
      expect(callPlugin(lab, 'CHECK', { ...call, conf: { ...call.conf, prevResult } })).toMatchObject({
        status: 0,
        stdout: '',
      })
      expectFault(callPlugin(lab, 'ADD', call))
      expect(store(lab)).toEqual({ '10.9.0.2': 'x\r\neth0' })
      expect(callPlugin(lab, 'DEL', call)).toMatchObject({ status: 0, stdout: '' })
      expect(leftovers(lab, 'x')).toEqual([])
      expect(snapshot(lab).network).toEqual(before)
    })
  })
})
