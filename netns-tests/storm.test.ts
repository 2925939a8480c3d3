/** Pods come and go, by all executables and the reference on one store, and a third of the calls are killed. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { executables } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { age, files, leftovers, packetFilter, STORE } from './observe.ts'
import { type Answer, addressesOf, BRIDGE, type Call, callPlugin, dualStack, NET, startPlugin } from './plugin.ts'
import { REFERENCE } from './reference.ts'
import { allEnded } from './until.ts'

const SECONDS = Number(process.env.STORM_SECONDS ?? 40)
const PODS = 200
const AT_A_TIME = 50
const SEED = 20_261_129
/** It goes on for as long as it takes to have killed so many. */
const KILLED = 20

/** A fixed sequence of numbers from 0 to 1 (mulberry32). */
function sequence(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Pod {
  readonly name: string
  readonly call: Call
  /** The IPAM plugin alone: no interface is made. */
  readonly isIpam: boolean
  state: 'absent' | 'present' | 'unknown'
}

/** The executables as they are called: `m0/pontoon`, …, and `reference/host-local`. */
function install(lab: Lab): { exe: string; isIpam: boolean }[] {
  const own = executables().filter(({ isFolder }) => !isFolder)
  own.forEach(({ path }, i) => {
    lab.must(
      'sh',
      '-ec',
      `: >/opt/cni/bin/m${i}; mount --bind ${path} /opt/cni/bin/m${i}; mkdir /run/m${i}
      ln -s /opt/cni/bin/m${i} /run/m${i}/pontoon; ln -s /opt/cni/bin/m${i} /run/m${i}/host-local`,
    )
  })
  const tools = own.map((_, i) => ({ exe: `../../../run/m${i}/pontoon`, isIpam: false }))
  if (REFERENCE === undefined) return tools
  lab.must('sh', '-ec', `mkdir /run/reference; mount --bind ${REFERENCE} /run/reference`)
  return [...tools, ...tools, { exe: '../../../run/reference/host-local', isIpam: true }]
}

test(`${PODS} pods, ${AT_A_TIME} calls at a time, a third killed: no address twice, and GC leaves nothing`, async () => {
  const lab = await openLab()
  const tools = install(lab)
  lab.must('sh', '-ec', `for i in $(seq 0 ${PODS - 1}); do ip netns add s$i; done`)
  const config = dualStack({ ipam: { ranges: [[{ subnet: '10.9.0.0/22' }], [{ subnet: 'fd00:9::/64' }]] } })
  const pods = Array.from({ length: PODS }, (_, i): Pod => {
    const { exe, isIpam } = tools[i % tools.length] as (typeof tools)[number]
    const call = { id: `storm-${i}`, netns: `s${i}`, exe, conf: config }
    return { name: `s${i}`, call, isIpam, state: 'absent' }
  })
  /** Who lives with which address: from its ADD's end to its DEL's begin. */
  const owners = new Map<string, Pod>()
  const problems: string[] = []
  const counts = { calls: 0, killed: 0, failed: 0 }

  const inside = async (pod: Pod): Promise<string[]> => {
    const shown = await lab.start(['ip', '-n', pod.name, '-j', 'addr', 'show', 'dev', 'eth0'])
    return JSON.parse(shown.stdout).flatMap((link: Json) => link.addr_info.map((info: Json) => info.local))
  }

  async function confirm(pod: Pod, { json }: Answer): Promise<void> {
    const given = addressesOf(json)
    for (const address of given) {
      const other = owners.get(address)
      if (other) problems.push(`${address} was given to ${pod.name} while ${other.name} has it`)
      owners.set(address, pod)
      const path = `${lab.root}${STORE}/${NET}/${address}`
      const stored = existsSync(path) ? readFileSync(path, 'latin1') : 'nothing'
      if (!stored.startsWith(`storm-${pod.name.slice(1)}\r\n`)) problems.push(`${address} of ${pod.name}: ${stored}`)
    }
    if (pod.isIpam) return
    const found = await inside(pod)
    for (const address of given) if (!found.includes(address)) problems.push(`${address} is not in ${pod.name}`)
  }

  async function step(pod: Pod, random: () => number): Promise<void> {
    const verb = pod.state === 'absent' || (pod.state === 'unknown' && random() < 0.3) ? 'ADD' : 'DEL'
    for (const [address, owner] of owners) if (owner === pod) owners.delete(address)
    const killAfter = random() < 1 / 3 ? random() * 400 : undefined
    const done = await startPlugin(lab, verb, { ...pod.call, ...(killAfter === undefined ? {} : { killAfter }) })
    counts.calls++
    const wasKilled = done.status === 137
    if (wasKilled) counts.killed++
    if (done.status !== 0) {
      if (!wasKilled) counts.failed++
      const isKnown = wasKilled || [11, 101].includes(done.json?.code) || pod.isIpam
      if (!isKnown) problems.push(`${verb} ${pod.name}: ${done.stdout}${done.stderr}`)
      pod.state = 'unknown'
      return
    }
    pod.state = verb === 'ADD' ? 'present' : 'absent'
    if (verb === 'ADD') await confirm(pod, done)
  }

  const deadline = performance.now() + SECONDS * 1000
  const goesOn = () => performance.now() < deadline || counts.killed < KILLED
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async (_, worker) => {
      const random = sequence(SEED + worker)
      const mine = pods.filter((__, i) => i % AT_A_TIME === worker)
      while (goesOn()) await step(mine[Math.floor(random() * mine.length)] as Pod, random)
    }),
  )
  console.log(
    `storm: ${counts.calls} calls, ${counts.killed} killed, ${counts.failed} failed, ${owners.size} addresses`,
  )
  expect(problems).toEqual([])
  for (const pod of new Set(owners.values())) {
    if (!pod.isIpam) expect(await inside(pod), pod.name).toEqual(expect.arrayContaining(addressesIn(owners, pod)))
  }

  await allEnded(lab)
  age(lab)
  const collected = callPlugin(lab, 'GC', { conf: { ...config, 'cni.dev/valid-attachments': [] }, ifname: '' })
  expect(collected).toMatchObject({ status: 0, stdout: '' })
  expect(leftovers(lab, 'storm-', 'pods-')).toEqual([])
  expect(packetFilter(lab)).toEqual([])
  expect(lab.ip('-j link show').map((link: Json) => link.ifname)).not.toContain(BRIDGE)
  const names = Object.keys({ ...files(lab, STORE), ...files(lab, '/run/pontoon') })
  expect(names.filter((path) => /\/[0-9a-f]{32}$|\/[\d.]{7,}$|:|lock\.lock|break$/.test(path))).toEqual([])
}, 900_000)

const addressesIn = (owners: ReadonlyMap<string, Pod>, pod: Pod): string[] =>
  [...owners].flatMap(([address, owner]) => (owner === pod ? [address] : []))
