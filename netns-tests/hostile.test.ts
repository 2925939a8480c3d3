/** Calls that somebody made up to do harm, and surroundings that do: one error document or a success, nothing else. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { openLab } from './lab.ts'
import { leftovers, marksOf, snapshot } from './observe.ts'
import { add, type Call, callPlugin, check, conf, del, dualStack, expectFault } from './plugin.ts'

const SEED = 20_261_129
const RUNS = 60
/** Environment variables hold no NUL and no lone surrogate. */
const names = [
  '-force', '--help', 'type', 'dev', 'up', '..', '.', 'a\nlink del dev lo', 'a#b', 'a"b', "a'b", 'a\\b', 'a b', 'é', 'a/b',
  'x'.repeat(16), 'x'.repeat(5000), '../../tmp/x', '%d', 'a:b', '{ }', '$(touch /run/owned)', '`touch /run/owned`', '',
] // biome-ignore format: a list of words
const values: unknown[] = [
  ...names, '\ud800', 'a\0b', -1, 0.5, 65_536, 4095, 2 ** 32, 1e308, null, true, [], {}, [[]], [null], { a: 1 }, '10.9.0.0/33',
  '10.9.0.5\n', '::/0', 'fd00::/8', '0.0.0.0/0', '999.1.1.1/24', '10.9.0.0/24 dev lo',
] // biome-ignore format: a list of values
const paths = [
  'cniVersion', 'name', 'bridge', 'mtu', 'vlan', 'isGateway', 'ipMasqBackend', 'ipMasqExclude', 'snatTo', 'vlanTrunk', 'dns',
  'ipam', 'ipam.type', 'ipam.dataDir', 'ipam.ranges', 'ipam.subnet', 'ipam.routes', 'ipam.resolvConf', 'ipam.gateway',
  'runtimeConfig', 'runtimeConfig.ips', 'runtimeConfig.mac', 'args.cni.ips', 'prevResult', 'cni.dev/valid-attachments',
] // biome-ignore format: a list of keys

const wrong = <T>(right: T, others: fc.Arbitrary<T>) => fc.oneof({ weight: 2, arbitrary: fc.constant(right) }, others)
const call = fc.record({
  verb: fc.constantFrom('ADD', 'ADD', 'ADD', 'CHECK', 'DEL', 'GC', 'STATUS', 'add', 'ADD\n'),
  id: wrong('hostile', fc.constantFrom(...names)),
  ifname: wrong('eth0', fc.constantFrom(...names)),
  args: fc.oneof(
    fc.constant(''),
    fc.constantFrom(...names).map((name) => `IgnoreUnknown=1;K8S_POD_NAMESPACE=${name};K8S_POD_NAME=${name}`),
    fc.constantFrom(...names).map((name) => `IP=${name}`),
    fc.constantFrom(...names),
  ),
  changes: fc.array(fc.tuple(fc.constantFrom(...paths), fc.constantFrom(...values)), { minLength: 1, maxLength: 2 }),
})

// biome-ignore lint/suspicious/noExplicitAny: a configuration is what the test makes of it
function changed(config: any, [path, value]: readonly [string, unknown]): object {
  const [key = '', ...rest] = path.startsWith('cni.dev') ? [path] : path.split('.')
  return { ...config, [key]: rest.length > 0 ? changed(config[key] ?? {}, [rest.join('.'), value]) : value }
}

forEachExecutable((executable) => {
  test(`${RUNS} hostile calls: an error document and nothing changed, or a success that DEL takes back`, async () => {
    const lab = await openLab(executable)
    const living = add(lab, 'living', dualStack())
    lab.netns('a')
    const before = snapshot(lab)
    for (const { verb, changes, ...words } of fc.sample(call, { seed: SEED, numRuns: RUNS })) {
      const config = changes.reduce<object>(changed, dualStack())
      const given: Call = { ...words, netns: 'a', conf: config }
      const done = callPlugin(lab, verb, given)
      const told = `${verb} ${JSON.stringify(given)}: ${done.stdout}${done.stderr}`
      if (done.status !== 0) expectFault(done)
      if (done.json?.code === 999) expect.fail(told)
      if (done.status === 0 && verb === 'ADD') {
        expect(done.json, told).toHaveProperty('cniVersion')
        expect(callPlugin(lab, 'DEL', given), told).toMatchObject({ status: 0, stdout: '' })
      }
      // What an empty list of GC, or another bridge, may do is another matter.
      if (verb === 'GC' || changes.some(([path]) => ['bridge', 'name', 'ipam.dataDir'].includes(path))) continue
      expect(snapshot(lab).network.a, told).toEqual(before.network.a)
    }
    expect(lab.run(['test', '-e', '/run/owned']).status).toBe(1)
    expect(lab.run(['ip', 'link', 'show', 'lo']).status).toBe(0)
    expect(lab.must('ls', '/run/pontoon', '/var/lib/cni').split('\n')).not.toContain('..')
    expect(living.id).toBe('pod-living')
  })

  test.each([
    { name: 'deep', stdin: `{"cniVersion":"1.1.0","name":"t","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}` },
    { name: 'larger than any', stdin: `{"cniVersion":"1.1.0","name":"t","x":"${'y'.repeat(2 << 20)}"}` },
    { name: 'cut short', stdin: '{"cniVersion":"1.1.0","name":"t"' },
    { name: 'two documents', stdin: `${JSON.stringify(conf())}${JSON.stringify(conf())}` },
    { name: 'with a NUL byte behind', stdin: `${JSON.stringify(conf())}\0` },
    {
      name: 'with the name twice, the second one hostile',
      stdin: JSON.stringify(conf())
        .replace('{', '{"name":"t",')
        .replace(/"name":"t","type"/, '"name":"../x","type"'),
    },
    {
      name: 'with the key __proto__',
      stdin: JSON.stringify(conf()).replace('{', '{"__proto__":{"bridge":"-force"},"bridge":"x y",'),
    },
  ])('JSON that is $name: one document, and nothing is made when it is an error', async ({ stdin }) => {
    const lab = await openLab(executable)
    lab.netns('a')
    const before = snapshot(lab)
    const done = callPlugin(lab, 'ADD', { id: 'x', netns: 'a', stdin })
    if (done.status === 0) expect(callPlugin(lab, 'DEL', { id: 'x', netns: 'a' }).status).toBe(0)
    else {
      expectFault(done)
      expect(done.json.code).not.toBe(999)
      expect(snapshot(lab)).toEqual(before)
    }
    expect(lab.run(['test', '-e', '/var/lib/cni/x']).status).toBe(1)
  })

  describe('surroundings', () => {
    const falseTools =
      'mkdir -p /run/false; for t in ip nft nsenter bridge setpriv; do printf "#!/bin/sh\\ntouch /run/owned\\n" >/run/false/$t; chmod 755 /run/false/$t; done'
    const cases: { name: string; make?: string; env?: Record<string, string>; under?: string[] }[] = [
      { name: 'a false ip first in PATH', make: falseTools, env: { PATH: '/run/false:/usr/sbin:/usr/bin:/sbin:/bin' } },
      { name: 'a PATH that leads nowhere', under: ['env', 'PATH=/nowhere'] },
      { name: 'false tools in the current directory', make: falseTools, under: ['sh', '-c', 'cd /run/false && PATH=.:$PATH exec "$0"'] },
      { name: 'no environment but the protocol', under: ['env', '-u', 'PATH', '-u', 'LC_ALL', '-u', 'HOME'] },
      { name: 'a current directory that is gone', under: ['sh', '-c', 'mkdir /run/gone; cd /run/gone; rmdir /run/gone; exec "$0"'] },
      { name: 'LD_PRELOAD and LD_LIBRARY_PATH', env: { LD_PRELOAD: '/run/none.so', LD_LIBRARY_PATH: '/run/false' } },
      { name: 'NODE_OPTIONS that load a file', make: 'echo "require(\'fs\').writeFileSync(\'/run/owned\', \'\')" >/run/evil.js', env: { NODE_OPTIONS: '--require=/run/evil.js' } },
      { name: 'IPROUTE2 and nft settings', env: { COLORTERM: 'truecolor', NFT_CACHE: '/run/x', LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE' } },
      { name: 'a umask that takes everything', under: ['sh', '-c', 'umask 777; exec "$0"'] },
      { name: 'few open files', under: ['prlimit', '--nofile=64', '--'] },
      { name: 'stderr closed', under: ['sh', '-c', 'exec "$0" 2>&-'] },
      { name: 'signals ignored', under: ['sh', '-c', 'trap "" PIPE HUP INT TERM CHLD; exec "$0"'] },
    ] // biome-ignore format: a table
    test.each(cases)('$name: ADD, CHECK and DEL work', async ({ make, env = {}, under = [] }) => {
      const lab = await openLab(executable)
      if (make) lab.must('sh', '-ec', make)
      const one = add(lab, 'a', dualStack(), { env, under })
      expect(check(lab, one, { env, under })).toMatchObject({ status: 0, stdout: '' })
      del(lab, one, { env, under })
      expect(lab.run(['test', '-e', '/run/owned']).status, 'nothing of theirs was run').toBe(1)
      expect(leftovers(lab, ...marksOf(one))).toEqual([])
    })

    test('stdout closed: the answer goes nowhere, and into no file', async () => {
      const lab = await openLab(executable)
      const given: Call = { id: 'pod-a', netns: lab.netns('a'), under: ['sh', '-c', 'exec "$0" >&-'] }
      callPlugin(lab, 'ADD', given)
      expect(lab.run(['sh', '-c', 'grep -rl cniVersion /run/pontoon /var/lib/cni']).stdout).toBe('')
      expect(callPlugin(lab, 'DEL', { ...given, under: [] })).toMatchObject({ status: 0 })
      expect(leftovers(lab, 'pod-a')).toEqual([])
    })

    test.each([
      ['stdin closed', 'exec "$0" <&-'],
      ['stdin empty', 'exec "$0" </dev/null'],
      ['stdin a folder', 'exec "$0" </run'],
    ])('%s: an error, and nothing is made', async (_, script) => {
      const lab = await openLab(executable)
      lab.netns('a')
      const before = snapshot(lab)
      for (const verb of ['ADD', 'DEL', 'GC', 'STATUS', 'CHECK']) {
        expectFault(callPlugin(lab, verb, { id: 'pod-a', netns: 'a', under: ['sh', '-c', script] }))
      }
      expect(snapshot(lab)).toEqual(before)
    })
  })
})
