/** What is measured: each scenario calls every contender in turn, in labs of their own, again and again. */
import { openLab } from './lab.mjs'

const NETWORK = 'bench'
const BRIDGE = 'br-bench'
const RANGES = [[{ subnet: '10.9.0.0/16' }], [{ subnet: 'fd00:9::/64' }]]
const ROUTES = [{ dst: '0.0.0.0/0' }, { dst: '::/0' }]

/** What every scenario may say otherwise. */
const usual = { backend: undefined, masquerade: false, dual: false, stored: 0, verbs: ['ADD', 'CHECK', 'DEL'] }

export const scenarios = [
  { name: 'no masquerade', verbs: ['ADD', 'CHECK', 'DEL', 'STATUS', 'GC'] },
  { name: 'masquerade', masquerade: true },
  { name: 'masquerade, dual stack', masquerade: true, dual: true },
  // The one's default on the other's ground, and the other way round.
  { name: 'masquerade by nftables', masquerade: true, backend: 'nftables' },
  { name: 'masquerade by iptables', masquerade: true, backend: 'iptables' },
  { name: '1,000 reservations', stored: 1_000, verbs: ['ADD', 'CHECK', 'DEL', 'GC'] },
  { name: '5,000 reservations', stored: 5_000 },
  { name: '20,000 reservations', stored: 20_000 },
  { name: 'first ADD of a boot', isFirst: true, verbs: ['ADD'] },
  { name: 'first ADD of a boot, 5,000 reservations', stored: 5_000, isFirst: true, verbs: ['ADD'] },
  { name: '20 at once', burst: 20, verbs: ['ADD', 'DEL'] },
  { name: '20 at once, masquerade', burst: 20, masquerade: true, verbs: ['ADD', 'DEL'] },
  { name: '100 at once', burst: 100, verbs: ['ADD', 'DEL'] },
  { name: '100 at once, masquerade', burst: 100, masquerade: true, verbs: ['ADD', 'DEL'] },
].map((scenario) => ({ ...usual, ...scenario }))

/** How often, at least once however slow: a burst is many calls already. */
function roundsOf({ burst = 1, stored }, rounds) {
  return Math.max(2, Math.round(rounds / (burst > 20 ? 8 : burst > 1 ? 4 : stored > 5000 ? 3 : stored > 0 ? 2 : 1)))
}

/**
 * Resolves to the samples: one list per verb and contender, of wall and CPU milliseconds; the n-th ones of all
 * contenders were taken one right after the other.
 */
export async function measure(scenario, contenders, { rounds, onRound, onFailure, opened }) {
  const labs = []
  try {
    for (const contender of contenders) {
      if (
        contender.isFloor &&
        (scenario.stored > 0 || scenario.isFirst || scenario.dual || scenario.burst || scenario.backend)
      )
        continue
      const lab = openLab(contender)
      labs.push(lab)
      opened?.(lab)
      await prepare(lab, scenario)
    }
    const samples = {}
    const out = new Set()
    const total = roundsOf(scenario, rounds)
    for (let round = -1; round < total; round++) {
      onRound?.(Math.max(round, 0), total)
      // Whoever is first finds colder caches: it is another one each time.
      const order = labs.map((_, i) => labs[(i + round + labs.length) % labs.length])
      for (const lab of order) {
        if (out.has(lab)) continue
        const taken = await oneRound(lab, scenario).catch((error) => {
          // One that fails, for want of time perhaps, is out; the others go on.
          out.add(lab)
          onFailure?.(error)
          return {}
        })
        for (const [verb, sample] of Object.entries(taken)) {
          if (round < 0) continue // the first one makes the bridge, and warms up
          samples[verb] ??= {}
          samples[verb][lab.contender.name] ??= []
          samples[verb][lab.contender.name].push(sample)
        }
      }
    }
    for (const verb of Object.values(samples)) for (const lab of out) delete verb[lab.contender.name]
    return samples
  } finally {
    await Promise.all(labs.map((lab) => lab.close()))
  }
}

async function prepare(lab, { stored, masquerade, backend, burst = 1 }) {
  for (let i = 0; i < burst; i++) await lab.run('ip', 'netns', 'add', `pod-${i}`)
  lab.fill(NETWORK, stored)
  // With iptables at hand, the reference's DEL looks for rules there too, and fails when there are none.
  if (backend === 'nftables') await shell(lab, 'mount --bind /dev/null "$(readlink -f /usr/sbin/iptables)"')
  if (!lab.contender.isFloor) return
  await shell(lab, `ip link add ${BRIDGE} type bridge; ip addr add 10.9.0.1/16 dev ${BRIDGE}; ip link set ${BRIDGE} up`)
  const table = 'add table inet floor; add set inet floor pods { type ipv4_addr; }'
  if (masquerade) await shell(lab, `nft '${table}'`)
}

const shell = (lab, script) => lab.run('/bin/sh', '-ec', script)

async function oneRound(lab, scenario) {
  const { burst = 1, isFirst, verbs, stored } = scenario
  if (lab.contender.isFloor) return floorRound(lab, scenario)
  const samples = {}
  const pods = Array.from({ length: burst }, (_, i) => i)
  if (isFirst) await shell(lab, `rm -rf /run/pontoon /var/lib/cni/networks/${NETWORK}/pontoon.boot`)
  const added = await lab.ask(
    'time',
    pods.map((pod) => job(lab, 'ADD', scenario, pod)),
  )
  samples.ADD = added
  const results = pods.map((pod) => JSON.parse(lab.output(pod)))
  const again = (verb) => pods.map((pod) => job(lab, verb, scenario, pod, { prevResult: results[pod] }))
  if (verbs.includes('CHECK')) samples.CHECK = await lab.ask('time', again('CHECK'))
  if (verbs.includes('STATUS')) samples.STATUS = await lab.ask('time', [job(lab, 'STATUS', scenario)])
  if (verbs.includes('GC')) {
    const others = Array.from({ length: stored }, (_, n) => ({ containerID: `other-${n + 2}`, ifname: 'eth0' }))
    const attachments = [{ containerID: 'pod-0', ifname: 'eth0' }, ...others]
    samples.GC = await lab.ask('time', [job(lab, 'GC', scenario, 0, { 'cni.dev/valid-attachments': attachments })])
  }
  samples.DEL = await lab.ask('time', again('DEL'))
  if (!verbs.includes('DEL')) delete samples.DEL
  return samples
}

function job(lab, verb, { backend, masquerade, dual }, pod = 0, more = {}) {
  const { exe, plugins } = lab.contender
  const families = dual ? 2 : 1
  const conf = {
    cniVersion: '1.1.0',
    name: NETWORK,
    type: 'bridge',
    bridge: BRIDGE,
    isGateway: true,
    ipMasq: masquerade,
    ...(backend ? { ipMasqBackend: backend } : {}),
    ipam: { type: 'host-local', ranges: RANGES.slice(0, families), routes: ROUTES.slice(0, families) },
    ...more,
  }
  const ofPod = { CNI_CONTAINERID: `pod-${pod}`, CNI_NETNS: `/run/netns/pod-${pod}`, CNI_IFNAME: 'eth0' }
  const env = {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    CNI_COMMAND: verb,
    CNI_PATH: plugins,
    ...(verb === 'STATUS' || verb === 'GC' ? {} : ofPod),
  }
  return { argv: [exe], env, stdin: JSON.stringify(conf) }
}

/** The kernel's part, by the same tools without a plugin: what no plugin that drives them can beat. */
async function floorRound(lab, { masquerade }) {
  const element = '{ 10.9.0.2 comment "bench" }'
  const add = `ip -batch - <<E
link add veth-bench master ${BRIDGE} up type veth peer name eth0 netns /run/netns/pod-0
E
nsenter --net=/run/netns/pod-0 ip -batch - <<E
addr add 10.9.0.2/16 dev eth0
link set dev eth0 up
route add default via 10.9.0.1
E
${masquerade ? `nft 'add element inet floor pods ${element}'` : ''}`
  const del = `${masquerade ? `nft 'delete element inet floor pods ${element}' & ` : ''}ip link del veth-bench; wait`
  return { ADD: await shell(lab, add), DEL: await shell(lab, del) }
}

/** The most memory that the plugin itself takes, in kB, over some ADDs and DELs. */
export async function measureMemory(contender, { opened, times = 5 } = {}) {
  const lab = openLab(contender)
  opened?.(lab)
  try {
    const scenario = { ...usual, masquerade: true }
    await prepare(lab, scenario)
    const peaks = []
    for (let i = 0; i < times; i++) {
      peaks.push((await lab.ask('memory', [job(lab, 'ADD', scenario)])).memory)
      const prevResult = JSON.parse(lab.output())
      peaks.push((await lab.ask('memory', [job(lab, 'DEL', scenario, 0, { prevResult })])).memory)
    }
    return Math.max(...peaks)
  } finally {
    await lab.close()
  }
}
