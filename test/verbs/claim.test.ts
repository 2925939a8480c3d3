import { expect, test } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { formatIp } from '../../src/core/ip.ts'
import { describeRange } from '../../src/core/ranges.ts'
import { parseWish } from '../../src/verbs/claim.ts'
import { netconf } from './netconf.ts'

const dual = { type: 'host-local', ranges: [[{ subnet: '10.9.0.0/24' }], [{ subnet: 'fd00:9::/120' }]] }
const only = (ipam: object, keys: object = {}) => ({ ...netconf({ ipam, ...keys }), name: 'net1' })

interface Wished {
  name: string
  conf: ReturnType<typeof netconf>
  fromArgs?: string[]
  sets: string[][]
  asked: (string | undefined)[]
}

const wishes: Wished[] = [
  { name: 'no IPAM: nothing', conf: netconf({}), sets: [], asked: [] },
  { name: 'one range, nothing asked for', conf: only({}), sets: [['10.9.0.1-10.9.0.254']], asked: [undefined] },
  {
    name: 'ranges of the runtime come before those of the configuration',
    conf: only({}, { runtimeConfig: { ipRanges: [[{ subnet: '10.7.0.0/30' }, { subnet: '10.8.0.0/30' }]] } }),
    sets: [['10.7.0.1-10.7.0.2', '10.8.0.1-10.8.0.2'], ['10.9.0.1-10.9.0.254']],
    asked: [undefined, undefined],
  },
  {
    name: 'CNI_ARGS asks',
    conf: only({}),
    fromArgs: ['10.9.0.9'],
    sets: [['10.9.0.1-10.9.0.254']],
    asked: ['10.9.0.9'],
  },
  {
    name: 'args of the configuration ask',
    conf: only({}, { args: { cni: { ips: ['10.9.0.9'] } } }),
    sets: [['10.9.0.1-10.9.0.254']],
    asked: ['10.9.0.9'],
  },
  {
    name: 'the runtime asks, with a prefix length that says nothing',
    conf: only({}, { runtimeConfig: { ips: ['10.9.0.9/16'] } }),
    sets: [['10.9.0.1-10.9.0.254']],
    asked: ['10.9.0.9'],
  },
  {
    name: 'two ask for one of each set',
    conf: only({ ...dual, subnet: undefined }, { runtimeConfig: { ips: ['fd00:9::9'] } }),
    fromArgs: ['10.9.0.9'],
    sets: [['10.9.0.1-10.9.0.254'], ['fd00:9::1-fd00:9::ff']],
    asked: ['10.9.0.9', 'fd00:9::9'],
  },
]

test.each(wishes)('$name', ({ conf, fromArgs = [], sets, asked }) => {
  const wish = parseWish(conf, fromArgs)
  expect(wish.sets.map((set) => set.map(describeRange))).toEqual(sets)
  expect(wish.asked.map((candidate) => candidate && formatIp(candidate.ip))).toEqual(asked)
})

test.each<[name: string, conf: ReturnType<typeof netconf>, fromArgs: string[], fault: object]>([
  [
    'IPAM without a range',
    only({ subnet: undefined }),
    [],
    { code: CODE.invalidConfig, message: 'network "net1" has no address range' },
  ],
  [
    'CNI_ARGS asks for no address',
    only({}),
    ['10.9.0'],
    {
      code: CODE.invalidEnvironment,
      message: 'CNI_ARGS asks for an invalid address',
      details: 'expected an IP address; found "10.9.0"',
    },
  ],
  [
    'an address of another subnet',
    only({}),
    ['192.0.2.1'],
    {
      code: CODE.invalidConfig,
      message: "address 192.0.2.1 can't be given",
      details: 'it is in none of the ranges 10.9.0.1-10.9.0.254',
    },
  ],
  [
    'two that ask for different ones of a set',
    only({}, { runtimeConfig: { ips: ['10.9.0.8'] } }),
    ['10.9.0.9'],
    { code: CODE.invalidConfig, message: "address 10.9.0.8 can't be given" },
  ],
  [
    'ranges of the runtime that overlap those of the configuration',
    only({}, { runtimeConfig: { ipRanges: [[{ subnet: '10.9.0.0/25' }]] } }),
    [],
    { code: CODE.invalidConfig, message: 'invalid ipam.ranges[1][0]' },
  ],
])('refused: %s', (_, conf, fromArgs, fault) => {
  expect(() => parseWish(conf, fromArgs)).toThrow(expect.objectContaining(fault))
})
