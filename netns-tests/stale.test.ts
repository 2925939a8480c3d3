/** What crashes and reboots leave: reservations of the dead are given back, those of the living never. */
import { existsSync, readdirSync, readFileSync, truncateSync } from 'node:fs'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { addresses, age, leftovers, marksOf, STORE, store } from './observe.ts'
import {
  add,
  addressesOf,
  BRIDGE,
  callPlugin,
  check,
  conf,
  del,
  dualStack,
  expectFault,
  startPlugin,
} from './plugin.ts'
import { until } from './until.ts'

const two = conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.2', rangeEnd: '10.9.0.3' }]] } })
const single = conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.2', rangeEnd: '10.9.0.2' }]] } })
const INDEX = '/run/pontoon/t'
const LONG_AGO = '2009-01-01'

/** Waits until a plugin under strace has found the lock of the store taken; its process ID. */
async function waiting(lab: Lab): Promise<string> {
  const path = `${lab.root}/run/trace`
  const trace = () => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  const found = () => /^(\d+) .*mkdir.*\/lock\.lock.*EEXIST/m.exec(trace())?.[1]
  await until(() => found() !== undefined, trace)
  return found() ?? ''
}

forEachExecutable((executable) => {
  test('when no address is left, those of the dead are given back', async () => {
    const lab = await openLab(executable)
    const [, dead] = [add(lab, 'a', two), add(lab, 'b', two)]
    lab.must('ip', 'netns', 'del', 'b')
    age(lab)
    expect(addressesOf(add(lab, 'c', two).result)).toEqual(addressesOf(dead.result))
    expect(Object.values(store(lab))).toEqual(['pod-a\r\neth0', 'pod-c\r\neth0'])
  })

  test('when no address is left and all owners live, ADD fails and leaves nothing', async () => {
    const lab = await openLab(executable)
    const all = [add(lab, 'a', two), add(lab, 'b', two)]
    age(lab)
    expectFault(callPlugin(lab, 'ADD', { id: 'pod-c', netns: lab.netns('c'), conf: two }), {
      code: 100,
      about: /10\.9\.0/,
    })
    for (const one of all) {
      expect(check(lab, one).status).toBe(0)
      del(lab, one)
    }
    expect(leftovers(lab, 'pod-c', ...marksOf(...all))).toEqual([])
  })

  test('after a reboot the addresses of the former boot are given back', async () => {
    const lab = await openLab(executable)
    const before = ['a', 'b'].map((name) => add(lab, name, two))
    lab.must(
      'sh',
      '-ec',
      `ip netns del a; ip netns del b; ip link del ${BRIDGE}; nft flush ruleset
      find /run/pontoon -type f -exec sed -i 's/"boot":"[^"]*"/"boot":"00000000-0000-0000-0000-000000000000"/' {} +`,
    )
    const after = ['c', 'd'].map((name) => add(lab, name, two))
    expect(after.flatMap(({ result }) => addressesOf(result)).toSorted()).toEqual(['10.9.0.2', '10.9.0.3'])
    for (const one of before) del(lab, one, { netns: '' })
    for (const one of after) expect(check(lab, one).status, 'DEL of the former pods spares the new ones').toBe(0)
  })

  test('a container that starts again under its ID in a new namespace gets its addresses back', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', dualStack())
    lab.must('ip', 'netns', 'del', 'a')
    const again = add(lab, 'a2', dualStack(), { id: one.id })
    expect(addressesOf(again.result)).toEqual(addressesOf(one.result))
    expect(check(lab, again)).toMatchObject({ status: 0, stdout: '' })
    del(lab, again)
    expect(leftovers(lab, ...marksOf(one, again))).toEqual([])
  })

  const rubbish = [
    { name: 'empty', make: ': >' },
    { name: 'of binary rubbish', make: "printf '\\001\\377 x' >" },
    { name: 'an ID and a line break', make: 'printf "gone\\n" >' },
  ]
  test.each(rubbish)('old reservations that are $name do not use the range up', async ({ make }) => {
    const lab = await openLab(executable)
    lab.must('sh', '-ec', `mkdir -p ${STORE}/t; for i in 2 3; do ${make} ${STORE}/t/10.9.0.$i; done`)
    age(lab)
    const done = callPlugin(lab, 'ADD', { id: 'pod-a', netns: lab.netns('a'), conf: two })
    if (make.includes('gone')) expectFault(done, { code: 100 })
    else expect(done).toMatchObject({ status: 0 })
  })

  test('of two first ADDs of a boot, the one that waited does not free what the other took over meanwhile', async () => {
    const lab = await openLab(executable)
    const [folder, netns] = [`${STORE}/t`, lab.netns('a')]
    lab.must('sh', '-ec', `mkdir -p ${folder}/lock.lock; printf 'pod-b\\r\\neth0' >${folder}/10.9.0.2`)
    lab.must('touch', '-d', LONG_AGO, `${folder}/10.9.0.2`)
    lab.must('touch', '-d', '+1 hour', `${folder}/lock.lock`) // nobody takes it for stale
    const under = ['strace', '-f', '-qq', '-o', '/run/trace', '-e', 'trace=mkdir,mkdirat', '-e', 'signal=none']
    const first = startPlugin(lab, 'ADD', { id: 'pod-a', netns, conf: single, under })
    const pid = await waiting(lab)
    process.kill(Number(pid), 'SIGSTOP')
    lab.must('rmdir', `${folder}/lock.lock`)
    const other = add(lab, 'b', single)
    // As it is before its ADD has come to the last thing that it notes.
    lab.must('rm', `${INDEX}/10.9.0.2`)
    process.kill(Number(pid), 'SIGCONT')
    expectFault(await first, { code: 100 })
    expect(store(lab)).toEqual({ '10.9.0.2': 'pod-b\r\neth0' })
    expect(check(lab, other)).toMatchObject({ status: 0 })
  })

  const losses = [
    { name: 'lost', damage: (lab: Lab) => lab.must('rm', '-r', '/run/pontoon') },
    {
      name: 'damaged',
      damage(lab: Lab) {
        const folder = `${lab.root}${INDEX}`
        for (const entry of readdirSync(folder).filter((name) => /^[0-9a-f]{32}$/.test(name)))
          truncateSync(`${folder}/${entry}`)
      },
    },
  ]
  test.each(losses)(
    'the clock was set forward and the index is $name: a living pod keeps its address',
    async (loss) => {
      const lab = await openLab(executable)
      const one = add(lab, 'a', single)
      lab.must('touch', '-d', LONG_AGO, `${STORE}/t/10.9.0.2`)
      loss.damage(lab)
      const next = { id: 'pod-b', netns: lab.netns('b'), conf: single }
      expectFault(callPlugin(lab, 'ADD', next), { code: 100 })
      expect(store(lab)).toEqual({ '10.9.0.2': 'pod-a\r\neth0' })
      lab.must('ip', '-n', 'a', 'link', 'del', 'eth0')
      expect(addressesOf(callPlugin(lab, 'ADD', next).json), 'without its port it is gone').toEqual(
        addressesOf(one.result),
      )
    },
  )

  test('a dead attachment whose address another has by now: what serves that one stays', async () => {
    const lab = await openLab(executable)
    const alone = conf({ ipam: { ranges: [[{ subnet: '10.9.0.5/32', gateway: '10.9.0.1' }]] } })
    add(lab, 'a', alone)
    lab.must('ip', '-n', 'a', 'link', 'del', 'eth0')
    lab.must('ip', 'netns', 'del', 'a')
    lab.must('rm', `${STORE}/t/10.9.0.5`)
    const other = add(lab, 'b', alone)
    const entries = () => readdirSync(`${lab.root}${INDEX}`).filter((name) => /^[0-9a-f]{32}$/.test(name))
    expect(entries()).toHaveLength(2)
    const done = callPlugin(lab, 'ADD', { id: 'pod-c', netns: lab.netns('c'), conf: alone })
    expectFault(done, { code: 100 })
    expect(done.stderr).not.toContain('reclaimed')
    expect(entries(), 'the dead one was cleared away').toHaveLength(1)
    expect(check(lab, other)).toMatchObject({ status: 0 })
  })

  test('a repaired half: eth0 was taken away, and the same ADD again makes it anew', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', dualStack())
    lab.must('ip', '-n', 'a', 'link', 'del', 'eth0')
    const again = add(lab, 'a', dualStack())
    expect(addressesOf(again.result)).toEqual(addressesOf(one.result))
    expect(addresses(lab, 'eth0', 'a')).toEqual(['10.9.0.2/24', 'fd00:9::2/64'])
    expect(check(lab, again)).toMatchObject({ status: 0, stdout: '' })
    del(lab, again)
    expect(leftovers(lab, ...marksOf(one))).toEqual([])
  })
})
