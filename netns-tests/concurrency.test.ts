import { expect, test } from 'vitest'
import { executables, forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { addresses, leftovers, store } from './observe.ts'
import { type Answer, addressesOf, BRIDGE, type Call, callPlugin, conf, dualStack, startPatiently } from './plugin.ts'
import { REFERENCE } from './reference.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)

function makeNamespaces(lab: Lab, count: number): void {
  lab.must('sh', '-ec', `for i in $(seq 0 ${count - 1}); do ip netns add n$i; done`)
}

const all = (lab: Lab, verb: string, count: number, call: (name: string, index: number) => Call): Promise<Answer[]> =>
  Promise.all(
    names(count).map((name, index) =>
      startPatiently(lab, verb, { id: `pod-${name}`, netns: name, ...call(name, index) }),
    ),
  )

/** Each failure once, however many calls met it. */
function expectAllWell(answers: readonly Answer[]): void {
  const failed = answers.filter(({ status }) => status !== 0)
  expect([...new Set(failed.map(({ stdout, stderr }) => stdout + stderr))], `${failed.length} failed`).toEqual([])
}

forEachExecutable((executable) => {
  test('100 ADDs at once give distinct addresses, and 100 DELs at once leave nothing', async () => {
    const lab = await openLab(executable)
    makeNamespaces(lab, 100)
    const config = dualStack()
    const added = await all(lab, 'ADD', 100, () => ({ conf: config }))
    expectAllWell(added)
    const given = added.flatMap(({ json }) => addressesOf(json))
    expect(new Set(given).size).toBe(200)
    expect(Object.keys(store(lab))).toHaveLength(200)
    expect(lab.ip(`-j link show master ${BRIDGE}`)).toHaveLength(100)
    expectAllWell(await all(lab, 'DEL', 100, (_, index) => ({ conf: { ...config, prevResult: added[index]?.json } })))
    expect(leftovers(lab, ...given)).toEqual([])
  })

  test.each(['first', 'second', 'third'])(
    '20 ADDs at once on a fresh machine, %s round: one bridge, one address of each family',
    async () => {
      const lab = await openLab(executable)
      makeNamespaces(lab, 20)
      const added = await all(lab, 'ADD', 20, () => ({ conf: dualStack() }))
      expectAllWell(added)
      expect(addresses(lab, BRIDGE)).toEqual(['10.9.0.1/24', 'fd00:9::1/64'])
      const checked = await all(lab, 'CHECK', 20, (_, index) => ({
        conf: { ...dualStack(), prevResult: added[index]?.json },
      }))
      expectAllWell(checked)
    },
  )

  test('ADDs and DELs of the same pods at once, over and over, leave nothing', async () => {
    const lab = await openLab(executable)
    makeNamespaces(lab, 10)
    for (let round = 0; round < 3; round++) {
      const both = await Promise.all([all(lab, 'ADD', 10, () => ({})), all(lab, 'DEL', 10, () => ({}))])
      expectAllWell(both[1])
      for (const { status, json } of both[0]) if (status !== 0) expect(json.code).toBeTypeOf('number')
      expectAllWell(await all(lab, 'DEL', 10, () => ({})))
      expect(leftovers(lab, 'pod-n')).toEqual([])
    }
  })
})

test('all executables and the reference host-local share one store: no address twice', async () => {
  const lab = await openLab()
  const tools = [
    ...executables().map(({ path, isFolder }) => (isFolder ? `${path}/host-local` : path)),
    ...(REFERENCE === undefined ? [] : [`${REFERENCE}/host-local`]),
  ]
  lab.must(
    'sh',
    '-ec',
    tools
      .map(
        (tool, i) =>
          `: >/opt/cni/bin/m${i}; mount --bind ${tool} /opt/cni/bin/m${i}; mkdir -p /run/m${i}; ln -s /opt/cni/bin/m${i} /run/m${i}/host-local`,
      )
      .join('\n'),
  )
  const config = conf()
  const call = (name: string, index: number): Call => ({
    conf: config,
    exe: `../../../run/m${index % tools.length}/host-local`,
    netns: name,
  })
  const added = await all(lab, 'ADD', 60, call)
  expectAllWell(added)
  const given = added.flatMap(({ json }) => addressesOf(json))
  expect(new Set(given).size).toBe(60)
  expect(Object.keys(store(lab)).toSorted()).toEqual(given.toSorted())
  // Each is released by another than gave it.
  expectAllWell(await all(lab, 'DEL', 60, (name, index) => call(name, index + 1)))
  expect(leftovers(lab, 'pod-n')).toEqual([])
  expect(callPlugin(lab, 'ADD', { ...call('n0', 0), id: 'last', netns: 'n0' })).toMatchObject({ status: 0 })
})
