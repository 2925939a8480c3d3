import { describe, expect, test } from 'vitest'
import { type Known, rowsOf, usage } from '../../src/commands/leases/rows.ts'
import { leasesText } from '../../src/commands/leases.ts'
import { parseConfFile } from '../../src/commands/networks.ts'
import { bar, coloured, duration, plain, table, wrap } from '../../src/commands/text.ts'
import { parseRangeSets } from '../../src/core/ranges.ts'
import type { IndexEntry } from '../../src/host/index-files.ts'

const entry = (containerID: string, address: string, keys: Partial<IndexEntry> = {}): IndexEntry => ({
  version: 1,
  network: 'net1',
  containerID,
  ifname: 'eth0',
  dataDir: '/var/lib/cni/networks',
  done: true,
  pid: 1,
  addresses: [`${address}/24`],
  netns: `/run/netns/${containerID}`,
  device: 4,
  inode: 1,
  hostVeth: `veth${containerID}`,
  bridge: 'cni0',
  masquerade: 'none',
  elements: [],
  boot: 'b',
  time: 1000,
  ...keys,
})
const lease = (address: string, containerID: string) => ({ address, owner: { containerID, ifname: 'eth0' } })
const known = (one: IndexEntry, isDead = false): Known => ({ entry: one, isDead })

describe('the rows', () => {
  test('live, dead and unknown are told apart, in the order of the addresses', () => {
    const rows = rowsOf(
      [lease('10.9.0.10', 'c'), lease('10.9.0.9', 'b'), lease('10.9.0.2', 'a')],
      [known(entry('a', '10.9.0.2', { pod: 'default/web' })), known(entry('b', '10.9.0.9'), true)],
      () => 500,
    )
    expect(rows.map(({ address, state, pod, since }) => [address, state, pod, since])).toEqual([
      ['10.9.0.2', 'live', 'default/web', 1000],
      ['10.9.0.9', 'dead', '', 1000],
      ['10.9.0.10', 'unknown', '', 500],
    ])
  })

  test('an address that a pod uses and the store has lost is shown', () => {
    const rows = rowsOf([], [known(entry('a', '10.9.0.2'))], () => undefined)
    expect(rows).toMatchObject([{ address: '10.9.0.2', reserved: false, state: 'live' }])
  })

  test('an entry of a former owner says nothing of the present one', () => {
    const rows = rowsOf([lease('10.9.0.2', 'new')], [known(entry('old', '10.9.0.2'), true)], () => 7)
    expect(rows).toMatchObject([{ containerID: 'new', state: 'unknown' }])
  })
})

test('the usage of a range leaves out the gateway and what is excluded', () => {
  const sets = parseRangeSets([[{ subnet: '10.9.0.0/29', exclude: ['10.9.0.6'] }], [{ subnet: 'fd00::/64' }]])
  expect(usage(sets, ['10.9.0.2', '10.9.0.6', 'fd00::5'])).toMatchObject([
    { set: 0, range: '10.9.0.1-10.9.0.6', capacity: 4, used: 1 },
    { set: 1, subnet: 'fd00::/64', used: 1 },
  ])
})

describe('configuration files', () => {
  const own = new Set(['pontoon', 'bridge'])
  const conflist = (...plugins: object[]) => JSON.stringify({ cniVersion: '1.0.0', name: 'net1', plugins })

  test('name and version of a list go into its plugins', () => {
    const { networks } = parseConfFile(
      '/x/10.conflist',
      conflist({ type: 'bridge', bridge: 'br7' }, { type: 'portmap' }),
      own,
    )
    expect(networks).toMatchObject([
      { name: 'net1', plugins: ['bridge', 'portmap'], netconf: { bridge: 'br7', cniVersion: '1.0.0' } },
    ])
  })

  test('a single plugin is a network, too', () => {
    const text = JSON.stringify({ cniVersion: '1.0.0', name: 'n', type: 'pontoon' })
    expect(parseConfFile('/x/10.conf', text, own).networks).toHaveLength(1)
  })

  test('the networks of others are not ours', () => {
    expect(parseConfFile('/x/10.conflist', conflist({ type: 'calico' }), own)).toMatchObject({
      name: 'net1',
      networks: [],
    })
  })

  test.each([
    ['no JSON', '{', /not valid JSON/],
    ['a wrong value', conflist({ type: 'pontoon', mtu: 'x' }), /mtu|net1/],
  ])('%s is told, with the plugin’s own words', (_, text, words) => {
    expect(parseConfFile('/x/10.conflist', text, own).problem?.message).toMatch(words)
  })
})

describe('text', () => {
  test.each([
    [0, 10, '░░░░'],
    [1, 100, '█░░░'],
    [99, 100, '███░'],
    [100, 100, '████'],
    [0, 0, '████'],
  ])('a bar of %i of %i', (used, capacity, want) => {
    expect(bar(used, capacity, 4)).toBe(want)
  })

  test.each([
    [0, '0s'],
    [61_000, '1m 1s'],
    [86_400_000 * 3 + 5000, '3d'],
    [3_600_000 * 5 + 60_000 * 4, '5h 4m'],
  ])('%i ms', (ms, want) => {
    expect(duration(ms)).toBe(want)
  })

  test('colours do not count in the width of a column', () => {
    expect(
      table([
        ['a', 'x'],
        [coloured('red', 'bb'), 'y'],
      ]),
    ).toBe(`a   x\n${coloured('red', 'bb')}  y`)
  })

  test('a network without pods is one line and its bars', () => {
    const { networks } = parseConfFile(
      '/x/10.conf',
      JSON.stringify({ name: 'n', type: 'pontoon', ipam: { subnet: '10.9.0.0/24' } }),
      new Set(['pontoon']),
    )
    const network = networks[0]
    if (!network) throw new Error('no network')
    const ranges = usage(parseRangeSets([[{ subnet: '10.9.0.0/24' }]]), [])
    const text = leasesText([{ network, sets: [], known: [], rows: [], ranges }], plain)
    expect(text).toBe('n  /x/10.conf  0 leases\n  10.9.0.1-10.9.0.254  ░░░░░░░░░░░░░░░░░░░░  0 of 253  0 %')
  })
})

test('lines are broken between words, and what is one word stays one', () => {
  expect(wrap('a bc def  g', 100)).toBe('a bc def  g')
  expect(wrap('  the first and the second', 12, '  ')).toBe('  the first\n  and the\n  second')
  expect(wrap(`x ${'y'.repeat(30)} z`, 10)).toBe(`x\n${'y'.repeat(30)}\nz`)
})
