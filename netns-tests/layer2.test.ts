import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { addresses, leftovers, marksOf, store } from './observe.ts'
import { isSilent, ping } from './ping.ts'
import { type Attachment, add, BRIDGE, callPlugin, check, conf, del, expectFault } from './plugin.ts'

const link = (lab: Lab, device: string, netns: string): Json => lab.ip(`-n ${netns} -d -j addr show dev ${device}`)[0]
const hostEnd = (one: Attachment): string => one.result.interfaces[1].name

/** Without `ipam`, whatever is in its place. */
const layer2 = (keys: Json = {}): Json => {
  const { ipam: _, ...rest } = conf({ isGateway: false, ipMasq: false })
  return { ...rest, ...keys }
}

const marksOfLayer2 = (...all: Attachment[]): string[] =>
  marksOf(...all.map((one) => ({ ...one, result: { ips: [], ...one.result } })))

forEachExecutable((executable) => {
  test.each<[name: string, keys: Json]>([
    ['absent', {}],
    ['null', { ipam: null }],
    ['empty', { ipam: {} }],
    ['without a type', { ipam: { type: '' } }],
  ])('ipam %s: a link and nothing else', async (_, keys) => {
    const lab = await openLab(executable)
    // The gateway and the masquerading have nothing to be about.
    const network = layer2({ ...keys, isGateway: true, ipMasq: true })
    const [one, two] = [add(lab, 'a', network), add(lab, 'b', network)]
    expect(one.result.interfaces.map(({ name }: Json) => name)).toEqual([BRIDGE, hostEnd(one), 'eth0'])
    expect([one.result.ips ?? [], one.result.routes ?? []]).toEqual([[], []])
    expect(link(lab, 'eth0', 'a').flags).toContain('LOWER_UP')
    expect([addresses(lab, 'eth0', 'a'), addresses(lab, BRIDGE), Object.keys(store(lab))]).toEqual([[], [], []])
    for (const [netns, address] of [
      ['a', '10.7.0.1/24'],
      ['b', '10.7.0.2/24'],
    ] as const) {
      lab.must('ip', '-n', netns, 'addr', 'add', address, 'dev', 'eth0')
    }
    expect(ping(lab, 'a', '10.7.0.2')).toBe(true)
    expect(check(lab, one)).toMatchObject({ status: 0, stdout: '' })
    lab.must('ip', 'link', 'set', hostEnd(one), 'nomaster')
    expectFault(check(lab, one), { code: 103, about: /port/ })
    for (const pod of [one, two]) del(lab, pod)
    del(lab, one)
    expect(leftovers(lab, ...marksOfLayer2(one, two))).toEqual([])
  })

  test('disableContainerInterface: the interface stays down, and CHECK wants it so', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', layer2({ disableContainerInterface: true, mtu: 1400 }))
    expect(link(lab, 'eth0', 'a')).toMatchObject({ mtu: 1400, addr_info: [] })
    expect(link(lab, 'eth0', 'a').flags).not.toContain('UP')
    expect(lab.ip(`-j link show dev ${hostEnd(one)}`)[0]).toMatchObject({ master: BRIDGE })
    expect(check(lab, one)).toMatchObject({ status: 0, stdout: '' })
    lab.must('ip', '-n', 'a', 'link', 'set', 'eth0', 'up')
    expectFault(check(lab, one), { code: 103, about: /eth0: want down, have up/ })
    del(lab, one)
    expect(leftovers(lab, ...marksOfLayer2(one))).toEqual([])
  })

  test('disableContainerInterface beside ipam is refused before anything is made', async () => {
    const lab = await openLab(executable)
    const done = callPlugin(lab, 'ADD', {
      id: 'pod-a',
      netns: lab.netns('a'),
      conf: conf({ disableContainerInterface: true }),
    })
    expectFault(done, { code: 7, about: /disableContainerInterface and ipam/ })
    expect(leftovers(lab)).toEqual([])
  })

  test('portIsolation: pods reach the gateway and not each other; CHECK sees it go', async () => {
    const lab = await openLab(executable)
    const isolated = conf({ portIsolation: true })
    const [one, two] = [add(lab, 'a', isolated), add(lab, 'b', isolated)]
    const free = add(lab, 'c', conf())
    expect(ping(lab, 'a', '10.9.0.1')).toBe(true)
    expect(ping(lab, 'b', '10.9.0.1')).toBe(true)
    expect(isSilent(lab, 'a', '10.9.0.3')).toBe(true)
    expect(ping(lab, 'a', '10.9.0.4')).toBe(true)
    expect(check(lab, one)).toMatchObject({ status: 0 })
    lab.must('ip', 'link', 'set', 'dev', hostEnd(one), 'type', 'bridge_slave', 'isolated', 'off')
    expectFault(check(lab, one), { code: 103, about: /want isolated on, have isolated off/ })
    for (const pod of [one, two, free]) del(lab, pod)
    expect(leftovers(lab, ...marksOf(one, two, free))).toEqual([])
  })
})
