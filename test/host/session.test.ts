import { expect, test, vi } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { openSession } from '../../src/host/session.ts'
import { followScripts, IP, inside, missing, printed, script } from './scripted.ts'

vi.mock('#engine', async () => (await import('./scripted.ts')).engine)
followScripts()

const cni0 = [{ ifindex: 2, ifname: 'cni0' }]
const eth0 = [{ ifindex: 3, ifname: 'eth0' }]

test('a dialog: each question has its answer', async () => {
  script({
    argv: IP,
    dialog: [
      { told: 'addr show dev cni0\naddr show dev eth0\n', prints: [printed(...cni0), printed(...eth0)] },
      { told: 'link set dev cni0 up\naddr show dev cni0\n', prints: [printed(...cni0)] },
    ],
  })
  const session = openSession()
  expect(await session.run(['addr show dev cni0', 'addr show dev eth0'])).toEqual([cni0, eth0])
  expect(await session.run(['link set dev cni0 up', 'addr show dev cni0'])).toEqual([cni0])
  expect(await session.close()).toEqual([])
})

test('a namespace is entered first', async () => {
  script({ argv: inside(...IP), dialog: [{ told: 'route show table all dev eth0\n', prints: ['[]\n'] }] })
  const session = openSession('/proc/7/fd/5')
  expect(await session.run(['route show table all dev eth0'])).toEqual([[]])
  expect(await session.close()).toEqual([])
})

test('an answer that comes in pieces is waited for', async () => {
  const text = printed(...cni0) + printed(...eth0)
  script({ argv: IP, dialog: [{ told: 'addr show dev cni0\naddr show dev eth0\n', prints: [...text] }] })
  const session = openSession()
  expect(await session.run(['addr show dev cni0', 'addr show dev eth0'])).toEqual([cni0, eth0])
  await session.close()
})

test('lines that show nothing are not waited for', async () => {
  script({ argv: IP, dialog: [{ told: 'link del dev veth1\nlink del dev veth2\n' }] })
  const session = openSession()
  expect(await session.run(['link del dev veth1', 'link del dev veth2'])).toEqual([])
  expect(await session.close()).toEqual([])
})

test('a question that fails leaves its answer out, which is an answer too', async () => {
  script({
    argv: IP,
    dialog: [
      {
        told: 'addr show dev cni0\naddr show dev veth1\n',
        complains: 'Device "veth1" does not exist.\nCommand failed -:2\n',
        prints: [printed(...cni0)],
      },
      {
        told: 'addr show dev veth2\n',
        complains: 'Device "veth2" does not exist.\nCommand failed -:3\n',
      },
    ],
    exit: { status: 1 },
  })
  const session = openSession()
  expect(await session.run(['addr show dev cni0', 'addr show dev veth1'])).toEqual([cni0])
  expect(await session.run(['addr show dev veth2'])).toEqual([])
  expect(await session.close()).toEqual([])
})

test('what failed is told with its line, whichever go it was in', async () => {
  script({
    argv: IP,
    dialog: [
      { told: 'link set dev a up\nlink set dev b up\n', complains: 'Cannot find device "b"\nCommand failed -:2\n' },
      {
        told: 'link add name c type veth\nroute append 10.0.0.0/8 via 192.0.2.1 dev a\n',
        complains:
          'Warning: something is deprecated.\n' +
          'RTNETLINK answers: File exists\nCommand failed -:3\n' +
          'Error: Nexthop has invalid gateway.\nsecond line\nCommand failed -:4\n',
      },
      { told: 'link set dev d up\n', complains: 'Command failed -:5\n' },
    ],
    exit: { status: 1 },
  })
  const session = openSession()
  await session.run(['link set dev a up', 'link set dev b up'])
  await session.run(['link add name c type veth', 'route append 10.0.0.0/8 via 192.0.2.1 dev a'])
  await session.run(['link set dev d up'])
  expect(await session.close()).toEqual([
    { line: 'link set dev b up', text: 'Cannot find device "b"' },
    { line: 'link add name c type veth', text: 'RTNETLINK answers: File exists' },
    { line: 'route append 10.0.0.0/8 via 192.0.2.1 dev a', text: 'Nexthop has invalid gateway.; second line' },
    { line: 'link set dev d up', text: 'failed' },
  ])
})

test('no lines are nothing to tell, and leave the numbers as they are', async () => {
  script({
    argv: IP,
    dialog: [{ told: 'link set dev a up\n' }],
    exit: { status: 1, stderr: 'no\nCommand failed -:1\n' },
  })
  const session = openSession()
  expect(await session.run([])).toEqual([])
  await session.run(['link set dev a up'])
  expect(await session.close()).toEqual([{ line: 'link set dev a up', text: 'no' }])
})

test('bridge speaks the same way', async () => {
  const vlans = [{ ifname: 'veth1', vlans: [{ vlan: 100 }] }]
  script({
    argv: ['/usr/sbin/bridge', '-force', '-compressvlans', '-json', '-batch', '-'],
    dialog: [{ told: 'vlan add dev veth1 vid 100\nvlan show dev veth1\n', prints: [printed(...vlans)] }],
  })
  const session = openSession(undefined, 'bridge')
  expect(await session.run(['vlan add dev veth1 vid 100', 'vlan show dev veth1'])).toEqual([vlans])
  expect(await session.close()).toEqual([])
})

test('complaints of a process that ends well are warnings', async () => {
  script({ argv: IP, dialog: [{ told: 'link set dev a up\n', complains: 'Warning: whatever\nand more\n' }] })
  const session = openSession()
  await session.run(['link set dev a up'])
  expect(await session.close()).toEqual([])
})

test('what is no JSON is told as what it is', async () => {
  script({ argv: IP, dialog: [{ told: 'addr show dev a\n', prints: ['BusyBox v1.36 multi-call binary\n'] }] })
  const session = openSession()
  await expect(session.run(['addr show dev a'])).rejects.toThrow(
    expect.objectContaining({
      code: CODE.tool,
      message: 'ip printed no JSON',
      details: 'install iproute2 (found: BusyBox v1.36 multi-call binary)',
    }),
  )
  await session.close()
})

test.each<[name: string, exit: object, code: number, details: string]>([
  [
    'in nsenter',
    { status: 1, stderr: 'nsenter: reassociate to namespace failed: Invalid argument\n' },
    CODE.tool,
    'nsenter: reassociate to namespace failed: Invalid argument',
  ],
  [
    'for want of memory',
    { status: 137, stderr: 'Cannot find device "b"\nCommand failed -:2\n' },
    CODE.tryAgain,
    'it was killed (status 137), for want of memory perhaps',
  ],
  ['by a fault of its own', { status: 139 }, CODE.tool, 'status 139'],
  ['by the deadline', { status: 137, timedOut: true }, CODE.tryAgain, 'it did not end within 25 s and was killed'],
])('a process that dies over a question, %s, is not waited for', async (_, exit, code, details) => {
  script({
    argv: inside(...IP),
    dialog: [{ told: 'addr show dev a\naddr show dev b\n', prints: [printed(...cni0)], dies: true }],
    exit,
  })
  const session = openSession('/proc/7/fd/5')
  const fault = { code, message: 'ip ended before its time', details }
  await expect(session.run(['addr show dev a', 'addr show dev b'])).rejects.toThrow(expect.objectContaining(fault))
  expect(await session.close()).toEqual([{ line: '', text: details, death: expect.objectContaining(fault) }])
})

test('a process that dies once it has answered is told at the end', async () => {
  script({
    argv: IP,
    dialog: [{ told: 'addr show dev a\n', prints: [printed(...cni0)], dies: true }],
    exit: { status: 139 },
  })
  const session = openSession()
  expect(await session.run(['addr show dev a'])).toEqual([cni0])
  const death = expect.objectContaining({ code: 104 })
  expect(await session.close()).toEqual([{ line: '', text: 'status 139', death }])
})

test.each<[name: string, exit: object, code: number, text: string]>([
  ['that is killed by the deadline', { status: 137, timedOut: true }, 11, 'it did not end within 25 s and was killed'],
  ['that is killed by somebody', { status: 143 }, 11, 'it was killed (status 143), for want of memory perhaps'],
  ['that is no iproute2', { status: 255, stderr: 'Option "-force" is unknown.\n' }, 104, 'Option "-force" is unknown.'],
])('a process %s is an error of no line', async (_, exit, code, text) => {
  script({ argv: IP, dialog: [{ told: 'link set dev a up\n' }], exit })
  const session = openSession()
  await session.run(['link set dev a up'])
  expect(await session.close()).toEqual([{ line: '', text, death: expect.objectContaining({ code, details: text }) }])
})

test('the end of the process is told beside the line that failed before it', async () => {
  const stderr = 'Cannot find device "a"\nCommand failed -:1\nError: argument "x" is wrong: Invalid "netns" value\n'
  script({ argv: IP, dialog: [{ told: 'link set dev a up\nlink add b\n' }], exit: { status: 255, stderr } })
  const session = openSession()
  await session.run(['link set dev a up', 'link add b'])
  expect(await session.close()).toEqual([
    { line: 'link set dev a up', text: 'Cannot find device "a"' },
    {
      line: '',
      text: 'Error: argument "x" is wrong: Invalid "netns" value',
      death: expect.objectContaining({ code: 104 }),
    },
  ])
})

test.each([
  ['ip', 'iproute2'],
  ['nsenter', 'util-linux'],
])('without %s nothing is started', (tool, name) => {
  missing.add(tool)
  expect(() => openSession('/proc/7/fd/5')).toThrow(
    expect.objectContaining({
      code: CODE.tool,
      message: `the tool ${tool} is missing`,
      details: expect.stringContaining(`install the package ${name}`),
    }),
  )
})
