/** The configuration files: can they be read, which comes first, do they agree. */

import { holds } from '../../core/allocate.ts'
import { type Cidr, contains, formatCidr, overlaps, parseCidr } from '../../core/ip.ts'
import type { RangeSet } from '../../core/ranges.ts'
import { gatewayDeviceOf } from '../../core/vlans.ts'
import type { ConfFile } from '../networks.ts'
import { shellWord } from '../ops.ts'
import { count } from '../text.ts'
import { type Check, type Finding, type NetworkFacts, ofEach, type RouteFact } from './facts.ts'

const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/')) || '.'
const baseName = ({ path }: ConfFile) => path.slice(path.lastIndexOf('/') + 1)
const setAside = ({ path }: ConfFile) => `mv ${shellWord(path)} ${shellWord(`${path}.disabled`)}`

export const readable: Check = ({ files }) =>
  files.flatMap(({ path, name, problem, isMissing }) =>
    problem === undefined
      ? []
      : [
          {
            check: 'conf-invalid',
            level: 'error',
            network: name,
            what: `${path}: ${problem.message}`,
            why: `${problem.remedy}; the runtime can’t start pods on it`,
            fix: isMissing ? `ls -l ${shellWord(folderOf(path))}` : `vi ${shellWord(path)}`,
            isSafe: false,
          },
        ],
  )

/** Without a network there is nothing to look at: that is no node that is well. */
export const none: Check = ({ files, folder, command }) => {
  if (folder === '' || files.some(({ networks, problem }) => networks.length > 0 || problem)) return []
  return [
    {
      check: 'conf-none',
      level: 'warning',
      network: '',
      what: `no network of Pontoon’s is configured in ${folder}`,
      why: 'pods wait until a runtime finds a network, or get that of another plugin',
      fix: `${command} install --conflist 10-pods.conflist`,
      isSafe: false,
    },
  ]
}

/** They come first to hand on to the others. */
const META: readonly string[] = ['multus', 'multus-shim', 'genie']

/** A runtime that joins pods to one network takes the first file; so a file with the same number is a race of names. */
export const firstPlace: Check = ({ files }) => {
  const [first, ...others] = files
  if (!first || files.every(({ networks }) => networks.length === 0)) return []
  if (first.plugins.some((type) => META.includes(type))) return []
  const number = /^\d+/.exec(baseName(first))?.[0]
  if (first.networks.length === 0) {
    const ours = others.find(({ networks }) => networks.length > 0)
    const told = `${first.path} (${first.plugins.join(', ') || 'unreadable'}) comes before ${ours?.path}`
    if (first.problem === undefined || first.plugins.length > 0) return [rivalry(first, told)]
    const why = 'containerd stops at a file that it can’t read: no pod starts'
    return [{ ...rivalry(first, told), level: 'error', why }]
  }
  return others
    .filter((file) => number !== undefined && /^\d+/.exec(baseName(file))?.[0] === number)
    .map((file) => rivalry(file, `${first.path} and ${file.path} want the same place`))
}

function rivalry(file: ConfFile, what: string): Finding {
  return {
    check: 'conf-first',
    level: 'warning',
    network: file.name,
    what,
    why: 'containerd and CRI-O join pods to the first network by file name: the other one is never used',
    fix: setAside(file),
    isSafe: false,
  }
}

/** Somebody took the file away, or gave the network another name. */
export const gone: Check = ({ strays, command, folder }) =>
  strays.map(({ name, reservations, living, isKnown }) => {
    const pods = living > 0 ? `${count(living, 'living pod')} and ` : ''
    return {
      check: 'conf-gone',
      level: living > 0 ? 'error' : 'warning',
      network: name,
      what: `there is no network "${name}" in ${folder}, but it has ${pods}${count(reservations, 'reservation')}`,
      why:
        living > 0
          ? 'doctor and repair don’t know what its pods should have; put its file back'
          : 'nobody gives them out again, and none of its own is left',
      fix: living > 0 || !isKnown ? `${command} leases ${name}` : `${command} gc ${name} --apply`,
      isSafe: false,
    }
  })

export const names: Check = ({ files }) =>
  files.flatMap((file, i) => {
    const former = files.slice(0, i).find(({ name }) => name !== '' && name === file.name)
    if (!former) return []
    return [
      {
        check: 'conf-duplicate',
        level: 'error',
        network: file.name,
        what: `${former.path} and ${file.path} are both called "${file.name}"`,
        why: 'they share one store and one index: GC of the one removes the pods of the other',
        fix: setAside(file),
        isSafe: false,
      },
    ]
  })

function subnetsOf({ sets }: NetworkFacts): readonly Cidr[] {
  return sets.flat().map(({ subnet }) => subnet)
}

export const overlap: Check = ({ networks }) =>
  networks.flatMap((network, i) =>
    networks.slice(0, i).flatMap((other): readonly Finding[] => {
      if (other.network.name === network.network.name) return []
      const shared = subnetsOf(network).find((a) => subnetsOf(other).some((b) => overlaps(a, b)))
      if (!shared) return []
      const { name, file } = network.network
      return [
        {
          check: 'subnet-overlap',
          level: 'error',
          network: name,
          what: `${formatCidr(shared)} overlaps a range of network "${other.network.name}"`,
          why: 'each has a store of its own: two pods get one address, and the node has two ways to it',
          fix: `vi ${shellWord(file)}  # another subnet than ${other.network.file} has`,
          isSafe: false,
        },
      ]
    }),
  )

export const subnetElsewhere = ofEach((network, { links }) => {
  const { bridge, vlan } = network.network.netconf
  // Of a bridge or VLAN that the network had before, its pods are told of.
  const places = [{ bridge, vlan }, ...network.known.map(({ entry }) => ({ ...entry, vlan: entry.vlan ?? vlan }))]
  const bridges = places.map((place) => place.bridge)
  const own = [...bridges, ...places.map(gatewayDeviceOf)]
  return subnetsOf(network).flatMap((subnet) =>
    [...links.values()]
      .filter(({ name, master }) => !own.includes(name) && !bridges.includes(master ?? ''))
      .flatMap(({ name, addresses }) =>
        addresses
          .filter(({ cidr }) => sameNet(cidr, subnet))
          .map(({ cidr }) => ({
            check: 'subnet-elsewhere',
            level: 'error' as const,
            what: `${formatCidr(subnet)} is also behind ${name}, which has ${cidr}`,
            why: 'the node sends what is for pods out there, or what is for its neighbours to the bridge',
            fix: `vi ${shellWord(network.network.file)}  # a subnet that the node does not use`,
            isSafe: false,
          })),
      ),
  )
})

/** A more exact route than the bridge's, or one like it, takes what is for pods elsewhere. */
export const routeElsewhere = ofEach(({ network: { netconf }, sets, known }, { routes, links }) => {
  if (!netconf.isGateway) return []
  const bridges = [netconf.bridge, ...known.map(({ entry }) => entry.bridge)]
  const isOwn = (device: string) => bridges.some((name) => device === name || device.startsWith(`${name}.`))
  const isConnected = ({ destination, device }: RouteFact) =>
    links.get(device)?.addresses.some(({ cidr }) => sameNet(cidr, parseCidr(destination))) ?? false
  return routes
    .filter((route) => !isOwn(route.device) && !isConnected(route) && takesFrom(parseCidr(route.destination), sets))
    .map(({ destination, device }) => ({
      check: 'route-elsewhere',
      level: 'error',
      what: `the node has a route for ${destination} to ${device}, and pods have those addresses`,
      why: 'the node sends what is for these pods, answers above all, out there',
      fix: `ip ${destination.includes(':') ? '-6 ' : ''}route del ${destination} dev ${device}`,
      isSafe: false,
    }))
})

/** Is it for addresses that the network gives out, and not wider than the subnet they are from? */
function takesFrom(route: Cidr | undefined, sets: readonly RangeSet[]): boolean {
  if (!route) return false
  return sets.flat().some((range) => {
    const { subnet, first } = range
    if (route.ip.family !== subnet.ip.family || route.prefix < subnet.prefix || !overlaps(route, subnet)) return false
    return holds(range, route.ip) || contains(route, first)
  })
}

function sameNet(text: string, subnet: Cidr | undefined): boolean {
  const cidr = parseCidr(text)
  return cidr !== undefined && subnet !== undefined && cidr.ip.family === subnet.ip.family && overlaps(cidr, subnet)
}
