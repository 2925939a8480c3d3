/** Pods that live, but not as ADD has made them. */
import type { IndexEntry } from '../../host/index-files.ts'
import { shellWord } from '../ops.ts'
import { ofEach } from './facts.ts'

function makingAnew({ pod, containerID }: IndexEntry): string {
  const [namespace = '', name] = pod?.split('/') ?? []
  const line = name ? ['kubectl', 'delete', 'pod', '--namespace', namespace, name] : ['crictl', 'stopp', containerID]
  return line.map(shellWord).join(' ')
}

export const cutOff = ofEach(({ cutOff: pods }) =>
  pods.map((entry) => {
    const { containerID, ifname, hostVeth, pod } = entry
    return {
      check: 'pod-cut-off',
      level: 'error',
      what: `the host end ${hostVeth} of ${pod ?? `container ${containerID}`}, interface ${ifname}, is gone`,
      why: 'the pod runs without network, and only a new one gets it back',
      fix: makingAnew(entry),
      isSafe: false,
    }
  }),
)

/** The later one is told: the first had it to itself. */
export const duplicateMacs = ofEach(({ byMac, network: { netconf } }) =>
  [...byMac].flatMap(([mac, entries]) => {
    const [first, ...others] = [...entries].sort((a, b) => a.time - b.time)
    return others.map((entry) => ({
      check: 'mac-duplicate',
      level: 'error',
      what: `${nameOfPod(entry)} and ${first ? nameOfPod(first) : ''} have one hardware address, ${mac}`,
      why: `the bridge ${netconf.bridge} sends what is for the one to the other, by turns`,
      fix: makingAnew(entry),
      isSafe: false,
    }))
  }),
)

const nameOfPod = ({ pod, containerID }: IndexEntry) => pod ?? `container ${containerID}`

/** It may be the pod's own doing, where that has the rights: so it is told, and left. */
export const podDrift = ofEach(({ inside }) =>
  inside
    .filter(({ what }) => what.length > 0)
    .map(({ entry, what, lines }) => ({
      check: 'pod-drift',
      level: 'error',
      what: `in ${nameOfPod(entry)}: ${what[0]}${what.length > 1 ? ` (and ${what.length - 1} more)` : ''}`,
      why: 'the pod can’t be reached, or can’t reach what is behind it',
      fix: lines.join(' && '),
      isSafe: false,
    })),
)

/** All of a network's at once: a change of the configuration makes it so. */
export const podMtu = ofEach(({ inside, network: { netconf } }) => {
  const found = inside.filter(({ mtu }) => mtu !== undefined)
  const [first, ...others] = found
  if (!first) return []
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  const lines = found.map(
    ({ entry: { netns, ifname } }) =>
      `nsenter --net=${shellWord(netns)} ip link set dev ${shellWord(ifname)} mtu ${netconf.mtu}`,
  )
  return [
    {
      check: 'pod-mtu',
      level: 'warning',
      what: `in ${nameOfPod(first.entry)}: ${first.mtu}${more}`,
      why: 'what the configuration says is for pods from then on; these were there before, or changed it',
      fix: lines.join(' && '),
      isSafe: false,
    },
  ]
})
