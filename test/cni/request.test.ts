import { expect, test } from 'vitest'
import { parseRequest, spokenVersion } from '../../src/cni/request.ts'
import { Fault } from '../../src/core/fault.ts'
import fc from '../properties.ts'

type Env = Record<string, string>

const add: Env = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: 'c1',
  CNI_NETNS: '/run/netns/a',
  CNI_IFNAME: 'eth0',
  CNI_PATH: '/opt/cni/bin:/usr/lib/cni',
  CNI_ARGS: '',
}
const conf = '{"cniVersion":"1.1.0","name":"net1","type":"bridge"}'

function parse(env: Env, stdin = conf) {
  return parseRequest(
    (name) => env[name],
    () => stdin,
  )
}

function faultOf(env: Env, stdin = conf): Pick<Fault, 'code' | 'message' | 'details'> {
  try {
    parse(env, stdin)
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('no fault')
}

test('a request in full', () => {
  expect(parse({ ...add, CNI_ARGS: 'MAC=02:00:00:00:00:01;IP=10.1.0.9,fd00::9' })).toEqual({
    verb: 'ADD',
    containerID: 'c1',
    ifname: 'eth0',
    netns: '/run/netns/a',
    path: ['/opt/cni/bin', '/usr/lib/cni'],
    args: { mac: '02:00:00:00:00:01', ips: ['10.1.0.9', 'fd00::9'] },
    allowOwnNetns: false,
    netconf: expect.objectContaining({ name: 'net1', cniVersion: '1.1.0' }),
    stdin: conf,
  })
})

interface Refused {
  name: string
  env?: Env
  stdin?: string
  code: number
  says: string
}

const refused: Refused[] = [
  { name: 'an unknown command', env: { CNI_COMMAND: 'PLAY' }, code: 4, says: 'CNI_COMMAND is unknown: "PLAY"' },
  { name: 'a command in lower case', env: { CNI_COMMAND: 'add' }, code: 4, says: 'CNI_COMMAND is unknown: "add"' },
  { name: 'a command called like a member of objects', env: { CNI_COMMAND: 'toString' }, code: 4, says: 'CNI_COMMAND' },
  { name: 'bad JSON before an unknown command', env: { CNI_COMMAND: 'PLAY' }, stdin: '{', code: 6, says: 'JSON' },
  {
    name: 'a missing name before an unknown command',
    env: { CNI_COMMAND: 'PLAY' },
    stdin: '{}',
    code: 7,
    says: 'name',
  },
  {
    name: 'an unknown command before a bad version',
    env: { CNI_COMMAND: 'PLAY' },
    stdin: '{"name":"a","cniVersion":"9.0.0"}',
    code: 4,
    says: 'CNI_COMMAND',
  },
  {
    name: 'all missing variables at once',
    env: { CNI_CONTAINERID: '', CNI_NETNS: '', CNI_IFNAME: '' },
    code: 4,
    says: 'environment variables are missing: CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME',
  },
  { name: 'ADD without netns', env: { CNI_NETNS: '' }, code: 4, says: 'environment variable is missing: CNI_NETNS' },
  { name: 'CHECK without netns', env: { CNI_COMMAND: 'CHECK', CNI_NETNS: '' }, code: 4, says: 'CNI_NETNS' },
  {
    name: 'DEL without its two variables',
    env: { CNI_COMMAND: 'DEL', CNI_NETNS: '', CNI_CONTAINERID: '', CNI_IFNAME: '' },
    code: 4,
    says: 'missing: CNI_CONTAINERID, CNI_IFNAME',
  },
  { name: 'missing variables before bad JSON', env: { CNI_NETNS: '' }, stdin: '', code: 4, says: 'CNI_NETNS' },
  {
    name: 'an invalid value before missing variables',
    env: { CNI_CONTAINERID: '../x', CNI_NETNS: '' },
    code: 4,
    says: 'CNI_CONTAINERID "../x"',
  },
  ...['-c', '_c', '.c', 'c/d', 'c d', 'c\n', 'ä', 'c:d'].map((id) => ({
    name: `container ID ${JSON.stringify(id)}`,
    env: { CNI_CONTAINERID: id },
    code: 4,
    says: `CNI_CONTAINERID ${JSON.stringify(id)} contains invalid characters`,
  })),
  ...[
    ['sixteencharacter', 'is longer than 15 characters'],
    ['.', 'is . or ..'],
    ['..', 'is . or ..'],
    ['a/b', 'contains /, : or white space'],
    ['a:b', 'contains /, : or white space'],
    ['a b', 'contains /, : or white space'],
    ['a\nb', 'contains /, : or white space'],
    ['a\u2003b', 'contains /, : or white space'],
    ['a\u0085b', 'contains /, : or white space'],
    ['eth\u00e9', 'contains a character outside printable ASCII'],
    ['a\u0007b', 'contains a character outside printable ASCII'],
    ['\ud800', 'contains a character outside printable ASCII'],
    ['eth#0', 'contains #, a quote or a backslash'],
    ['eth"0', 'contains #, a quote or a backslash'],
    ["eth'0", 'contains #, a quote or a backslash'],
    ['eth\\0', 'contains #, a quote or a backslash'],
    ['eth%d', 'contains %, which the kernel replaces'],
    ['-eth0', 'starts with -'],
  ].map(([ifname, says]) => ({
    name: `interface name ${JSON.stringify(ifname)}`,
    env: { CNI_IFNAME: ifname as string },
    code: 4,
    says: `CNI_IFNAME ${JSON.stringify(ifname)} ${says}`,
  })),
  { name: 'no configuration', stdin: '', code: 6, says: 'not valid JSON' },
  { name: 'white space for a configuration', stdin: ' \n', code: 6, says: 'not valid JSON' },
  { name: 'a configuration cut off', stdin: conf.slice(0, -1), code: 6, says: 'not valid JSON' },
  { name: 'no JSON', stdin: 'name: net1', code: 6, says: 'not valid JSON' },
  { name: 'text behind the configuration', stdin: `${conf} x`, code: 6, says: 'not valid JSON' },
  { name: 'a list of configurations', stdin: `[${conf}]`, code: 6, says: 'not a JSON object' },
  { name: 'a string for a configuration', stdin: '"net1"', code: 6, says: 'not a JSON object' },
  { name: 'absurd nesting', stdin: '[{"a":'.repeat(1e6), code: 6, says: 'not valid JSON' },
  { name: 'null', stdin: 'null', code: 7, says: 'has no name' },
  { name: 'no name', stdin: '{"cniVersion":"1.0.0"}', code: 7, says: 'has no name' },
  { name: 'an empty name', stdin: '{"name":""}', code: 7, says: 'has no name' },
  { name: 'null for a name', stdin: '{"name":null}', code: 7, says: 'has no name' },
  { name: 'a number for a name', stdin: '{"name":5}', code: 6, says: 'name of the network' },
  { name: 'a number for a version', stdin: '{"name":"a","cniVersion":1}', code: 6, says: 'cniVersion of the network' },
  ...['../a', 'a b', '-a', 'a\u0000', '\ud800'].map((name) => ({
    name: `network name ${JSON.stringify(name)}`,
    stdin: JSON.stringify({ cniVersion: '1.0.0', name }),
    code: 7,
    says: `network name ${JSON.stringify(name)} contains invalid characters`,
  })),
  { name: 'the name before the version', stdin: '{"name":"a/b","cniVersion":"9"}', code: 7, says: 'network name' },
  { name: 'a version that is not supported', stdin: '{"name":"a","cniVersion":"9.0.0"}', code: 1, says: '9.0.0' },
  {
    name: 'the version before other keys',
    stdin: '{"name":"a","cniVersion":"9.0.0","bridge":1}',
    code: 1,
    says: '9.0.0',
  },
  ...['CHECK', 'STATUS', 'GC'].map((verb) => ({
    name: `${verb} without a version, which means 0.1.0`,
    env: { CNI_COMMAND: verb },
    stdin: '{"name":"a"}',
    code: 1,
    says: `cniVersion 0.1.0 does not allow ${verb}`,
  })),
  { name: 'arguments without "="', env: { CNI_ARGS: 'MAC' }, code: 4, says: 'CNI_ARGS has the pair "MAC"' },
  { name: 'arguments with two "="', env: { CNI_ARGS: 'IgnoreUnknown=1;A=b=c' }, code: 4, says: 'the pair "A=b=c"' },
  { name: 'arguments with ";" at the end', env: { CNI_ARGS: 'IP=10.0.0.1;' }, code: 4, says: 'the pair ""' },
  { name: 'unknown arguments', env: { CNI_ARGS: 'A=1;IP=10.0.0.1;B=2' }, code: 4, says: 'unknown keys A, B' },
  { name: 'arguments in lower case', env: { CNI_ARGS: 'mac=02:00:00:00:00:01' }, code: 4, says: 'unknown key mac' },
  { name: 'unknown arguments with IgnoreUnknown=0', env: { CNI_ARGS: 'IgnoreUnknown=0;A=1' }, code: 4, says: 'key A' },
  { name: 'IgnoreUnknown that is no truth value', env: { CNI_ARGS: 'IgnoreUnknown=yes' }, code: 4, says: 'yes' },
]

test.each(refused)('refused: $name', ({ env = {}, stdin = conf, code, says }) => {
  const fault = faultOf({ ...add, ...env }, stdin)
  expect(fault).toMatchObject({ code, message: expect.stringContaining(says) })
  expect(fault.details).not.toBe('')
})

interface Accepted {
  name: string
  env?: Env
  stdin?: string
  want: object
}

const del = { CNI_COMMAND: 'DEL', CNI_NETNS: '' }

const accepted: Accepted[] = [
  { name: 'no CNI_PATH', env: { CNI_PATH: '' }, want: { path: [] } },
  { name: 'CNI_PATH with empty parts', env: { CNI_PATH: ':/a::/b:' }, want: { path: ['/a', '/b'] } },
  { name: 'the longest interface name', env: { CNI_IFNAME: 'fifteencharacte' }, want: { ifname: 'fifteencharacte' } },
  { name: 'an interface name of odd signs', env: { CNI_IFNAME: 'a.b-c_d@e$' }, want: { ifname: 'a.b-c_d@e$' } },
  { name: 'container ID of all allowed signs', env: { CNI_CONTAINERID: '0a_.-Z' }, want: { containerID: '0a_.-Z' } },
  { name: 'no version: 0.1.0', stdin: '{"name":"a"}', want: { netconf: { cniVersion: '0.1.0' } } },
  {
    name: 'an empty version: 0.1.0',
    stdin: '{"name":"a","cniVersion":""}',
    want: { netconf: { cniVersion: '0.1.0' } },
  },
  { name: 'DEL without netns', env: del, want: { verb: 'DEL', netns: '' } },
  {
    name: 'DEL with malformed arguments',
    env: { ...del, CNI_ARGS: 'x;y=1;IP=10.0.0.1' },
    want: { args: { ips: ['10.0.0.1'] } },
  },
  {
    name: 'STATUS with nothing but the command',
    env: { CNI_COMMAND: 'STATUS', CNI_CONTAINERID: '', CNI_NETNS: '', CNI_IFNAME: '', CNI_PATH: '' },
    want: { verb: 'STATUS', containerID: '', ifname: '', netns: '', path: [] },
  },
  {
    name: 'GC has no container, whatever the variables say',
    env: { CNI_COMMAND: 'GC', CNI_ARGS: 'x' },
    want: { verb: 'GC', containerID: '', ifname: '', netns: '', path: ['/opt/cni/bin', '/usr/lib/cni'] },
  },
  ...['1', 'true', 'TRUE'].map((value) => ({
    name: `own namespace with CNI_NETNS_OVERRIDE=${value}`,
    env: { CNI_NETNS_OVERRIDE: value },
    want: { allowOwnNetns: true },
  })),
  ...['', '0', 'yes'].map((value) => ({
    name: `no own namespace with CNI_NETNS_OVERRIDE=${value}`,
    env: { CNI_NETNS_OVERRIDE: value },
    want: { allowOwnNetns: false },
  })),
  {
    name: 'unknown arguments with IgnoreUnknown=true',
    env: { CNI_ARGS: 'A=1;IgnoreUnknown=True' },
    want: { args: { ips: [] } },
  },
  { name: 'arguments without values', env: { CNI_ARGS: 'MAC=;IP=,' }, want: { args: { ips: [] } } },
  {
    name: 'the last of duplicate arguments',
    env: { CNI_ARGS: 'IP=10.0.0.1;IP=10.0.0.2' },
    want: { args: { ips: ['10.0.0.2'] } },
  },
  {
    name: 'the arguments of Kubernetes',
    env: { CNI_ARGS: 'K8S_POD_NAME=p;K8S_POD_INFRA_CONTAINER_ID=c1;K8S_POD_UID=u;K8S_POD_NAMESPACE=n' },
    want: { args: { ips: [], pod: { namespace: 'n', name: 'p', uid: 'u' } } },
  },
  {
    name: 'the arguments of podman: a pod without a namespace',
    env: { CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAME=c' },
    want: { args: { ips: [], pod: { namespace: '', name: 'c' } } },
  },
]

test.each(accepted)('accepted: $name', ({ env = {}, stdin = conf, want }) => {
  expect(parse({ ...add, ...env }, stdin)).toMatchObject(want)
})

test.each([
  { name: 'with nothing', env: {}, stdin: '', version: '1.1.0' },
  { name: 'with a version alone', env: {}, stdin: '{"cniVersion":"0.4.0"}', version: '0.4.0' },
  { name: 'with a version in odd spelling', env: {}, stdin: '{"CNIVERSION":"0.4.0"}', version: '0.4.0' },
  { name: 'with an unsupported version', env: {}, stdin: '{"cniVersion":"8.0.0"}', version: '1.1.0' },
  { name: 'with a version of another type', env: {}, stdin: '{"cniVersion":1}', version: '1.1.0' },
  { name: 'with bad JSON', env: {}, stdin: '[', version: '1.1.0' },
  {
    name: 'with bad variables',
    env: { CNI_IFNAME: '..', CNI_CONTAINERID: '/', CNI_ARGS: 'x' },
    stdin: conf,
    version: '1.1.0',
  },
])('VERSION $name is answered', ({ env, stdin, version }) => {
  expect(parse({ CNI_COMMAND: 'VERSION', ...env }, stdin)).toMatchObject({
    verb: 'VERSION',
    netconf: { cniVersion: version },
  })
})

const unreadable = () => {
  throw new Error('EIO')
}

test('stdin that cannot be read has a code of its own', () => {
  expect(() => parseRequest((name) => add[name], unreadable)).toThrow(
    expect.objectContaining({ code: 5, details: 'EIO' }),
  )
})

test('VERSION is answered even when stdin cannot be read', () => {
  expect(parseRequest((name) => (name === 'CNI_COMMAND' ? 'VERSION' : undefined), unreadable).netconf.cniVersion).toBe(
    '1.1.0',
  )
})

test('stdin is not read when a variable is wrong', () => {
  expect(() => parseRequest((name) => ({ ...add, CNI_IFNAME: '..' })[name], unreadable)).toThrow(
    expect.objectContaining({ code: 4 }),
  )
})

test('the version for an error object is told as soon as stdin names one', () => {
  expect([conf, '{"cniVersion":"0.3.1"}', '{"cniVersion":"5"}', '{}', '{', 'null'].map(spokenVersion)).toEqual([
    '1.1.0',
    '0.3.1',
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

const words = fc.oneof(
  fc.constantFrom('', 'c1', 'eth0', '/run/netns/a', 'IP=1;MAC=2', '1'),
  fc.string({ unit: 'binary' }),
)
const env = fc.record({
  CNI_COMMAND: fc.oneof(fc.constantFrom('ADD', 'DEL', 'CHECK', 'STATUS', 'GC', 'VERSION'), fc.string()),
  CNI_CONTAINERID: words,
  CNI_NETNS: words,
  CNI_IFNAME: words,
  CNI_ARGS: words,
  CNI_PATH: words,
})
const keys = 'cniVersion name bridge mtu vlan vlanTrunk ipam dns runtimeConfig args prevResult cni.dev/attachments'
const object = fc
  .dictionary(fc.constantFrom(...keys.split(' ')), fc.jsonValue())
  .map((value) => JSON.stringify({ name: 'net1', cniVersion: '1.1.0', ...value }))

test('whatever comes in, the only error is a Fault', () => {
  fc.assert(
    fc.property(env, fc.oneof(object, fc.json(), fc.string()), (variables, stdin) => {
      try {
        parse({ ...variables }, stdin)
      } catch (error) {
        expect(error).toBeInstanceOf(Fault)
      }
    }),
    { numRuns: 500 },
  )
})

test('DEL of a known network is read whatever its other keys say', () => {
  const value = fc.dictionary(fc.constantFrom(...keys.split(' ').slice(3)), fc.jsonValue())
  fc.assert(
    fc.property(value, (other) => {
      const request = parse({ ...add, ...del }, JSON.stringify({ name: 'net1', cniVersion: '1.1.0', ...other }))
      expect(request.netconf.name).toBe('net1')
    }),
    { numRuns: 500 },
  )
})
