/** Addresses: are there any left, who holds them, can the store be used. */
import { deletionOf } from '../../core/kinds/masquerade.ts'
import { shortId } from '../leases.ts'
import { shellWord } from '../ops.ts'
import { count, duration } from '../text.ts'
import { type Finding, ofEach } from './facts.ts'

type Local = Omit<Finding, 'network'>

/** Share of a range set from which on it is worth a word. */
const NEARLY = 0.9

export const exhaustion = ofEach((facts, { command }) => {
  const { network, sets, ranges, dead } = facts
  return sets.flatMap((_, i): readonly Local[] => {
    const own = ranges.filter(({ set }) => set === i)
    const used = own.reduce((sum, range) => sum + range.used, 0)
    const capacity = own.reduce((sum, range) => sum + range.capacity, 0)
    if (used < capacity * NEARLY) return []
    const isFull = used >= capacity
    const fix =
      dead.length > 0 ? `${command} gc ${network.name} --apply` : `vi ${shellWord(network.file)}  # more ranges`
    return [
      {
        check: isFull ? 'range-full' : 'range-nearly-full',
        level: isFull ? 'error' : 'warning',
        what: `${used} of ${capacity} addresses of ${own.map(({ range }) => range).join(', ')} are reserved`,
        why: isFull
          ? 'no further pod gets an address: ADD fails with code 100'
          : 'soon no pod gets an address any more',
        fix,
        isSafe: dead.length > 0,
      },
    ]
  })
})

export const deadLeases = ofEach(({ dead, network }, { command }) => {
  if (dead.length === 0) return []
  const addresses = dead.flatMap((one) => one.addresses)
  const first = dead[0]
  const shown = addresses.slice(0, 3).join(', ') + (addresses.length > 3 ? ', …' : '')
  return [
    {
      check: 'lease-dead',
      level: 'warning',
      what: `${count(dead.length, 'attachment')} of containers that are gone, such as ${shortId(first?.containerID ?? '') || 'a file that names none'}: ${shown || 'no address'}`,
      why: 'nobody sends DEL for them any more; they hold addresses until there are no others',
      fix: `${command} gc ${network.name} --apply`,
      isSafe: true,
    },
  ]
})

/** As long as an ADD of another plugin might still be about to use its address. */
const SETTLED = 600_000

/** Reservations that neither the index nor a port of the bridge tells of. */
export const ownerless = ofEach(({ rows, dead, isQuiet, network }, { now }) => {
  if (!isQuiet || network.file === '') return []
  const known = new Set(dead.flatMap(({ addresses }) => addresses))
  return rows
    .filter(({ address, state, since = now }) => state === 'unknown' && !known.has(address) && now - since > SETTLED)
    .map(({ address, containerID, since = now }) => ({
      check: 'lease-ownerless',
      level: 'warning',
      what: `${address} is reserved for container ${containerID || '(none)'} since ${duration(now - since)}, and no port of ${network.netconf.bridge} is its`,
      why: 'another plugin may have left it; while it is there nobody gets the address',
      fix: `rm ${shellWord(`${network.storeFolder}/${address}`)}`,
      isSafe: false,
    }))
})

export const lostLeases = ofEach(({ rows, network }) =>
  rows
    .filter(({ reserved, state }) => !reserved && state === 'live')
    .map(({ address, containerID, ifname, pod }) => ({
      check: 'lease-lost',
      level: 'error',
      what: `${address} of ${pod || `container ${containerID}`} is not reserved any more`,
      why: 'the pod uses it; Pontoon will not give it out while its index says so, but other plugins and other boots would',
      fix: reservation(network.storeFolder, address, [containerID, ifname]),
      isSafe: true,
    })),
)

/** What writes the file of an address as the store has it, unless somebody has it meanwhile. */
function reservation(folder: string, address: string, owner: readonly string[]): string {
  const file = shellWord(`${folder}/${address}`)
  return `(set -C; mkdir -p ${shellWord(folder)}; printf '%s\\r\\n%s' ${owner.map(shellWord).join(' ')} >${file})`
}

export const orphanRules = ofEach(({ orphans }) => {
  if (orphans.length === 0) return []
  const lines = orphans.flatMap(deletionOf)
  return [
    {
      check: 'rule-orphan',
      level: 'warning',
      what: `${count(orphans.length, 'rule')} of addresses that nobody has, such as ${orphans[0]?.split(' ').at(-1)}`,
      why: 'they do no harm but to those who read the rules; something was removed by hand',
      fix: `nft '${lines.join('; ')}'`,
      isSafe: false,
    },
  ]
})

/** Milliseconds: a lock is held for one or two. */
const LONG = 5000

export const heldLock = ofEach(({ lock, network }) => {
  if (!lock || (lock.age < LONG && !lock.isStale)) return []
  const who = lock.pid > 0 ? `process ${lock.pid} (${lock.command || 'which has ended'})` : 'an unknown process'
  const isAlive = lock.command !== '' && !lock.isStale
  return [
    {
      check: 'lock-held',
      level: 'error',
      what: `the store ${network.storeFolder} is locked since ${duration(lock.age)}, by ${who}`,
      why: isAlive
        ? 'every ADD waits for 20 s and fails with code 11'
        : 'its holder shows no sign of life: the next ADD takes it away after 3 s',
      fix: isAlive ? `kill ${lock.pid}` : `${lock.isFolder ? 'rmdir' : 'rm'} ${shellWord(lock.path)}`,
      isSafe: !isAlive,
    },
  ]
})

export const unusableStore = ofEach(({ storeProblem, indexProblem, network }) =>
  [
    { problem: storeProblem, what: `the store ${network.storeFolder}`, why: 'no address can be reserved' },
    { problem: indexProblem, what: `the index ${network.indexFolder}`, why: 'no attachment can be noted' },
  ].flatMap(({ problem, what, why }): readonly Local[] =>
    problem === undefined
      ? []
      : [
          {
            check: 'store-unusable',
            level: 'error',
            what: `${what} can't be written: ${problem.what}`,
            why: `${why}: every ADD fails with code 5`,
            fix: problem.fix,
            isSafe: false,
          },
        ],
  ),
)
