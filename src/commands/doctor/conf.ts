/** The configuration files: can they be read, which comes first, do they agree. */
import { type Cidr, formatCidr, overlaps, parseCidr } from '../../core/ip.ts'
import type { ConfFile } from '../networks.ts'
import { type Check, type Finding, type NetworkFacts, ofEach } from './facts.ts'

const baseName = ({ path }: ConfFile) => path.slice(path.lastIndexOf('/') + 1)
const setAside = ({ path }: ConfFile) => `mv ${path} ${path}.disabled`

export const readable: Check = ({ files }) =>
  files.flatMap(({ path, name, problem }) =>
    problem === undefined
      ? []
      : [
          {
            check: 'conf-invalid',
            level: 'error',
            network: name,
            what: `${path}: ${problem.message}`,
            why: `${problem.remedy}; the runtime can’t start pods on it`,
            fix: `vi ${path}`,
            isSafe: false,
          },
        ],
  )

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
    return [rivalry(first, `${first.path} (${first.plugins.join(', ') || 'unreadable'}) comes before ${ours?.path}`)]
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
          fix: `vi ${file}  # another subnet than ${other.network.file} has`,
          isSafe: false,
        },
      ]
    }),
  )

export const subnetElsewhere = ofEach((network, { links }) => {
  const { bridge, vlan } = network.network.netconf
  const own = [bridge, `${bridge}.${vlan}`]
  return subnetsOf(network).flatMap((subnet) =>
    [...links.values()]
      .filter(({ name, master }) => !own.includes(name) && master !== bridge)
      .flatMap(({ name, addresses }) =>
        addresses
          .filter(({ cidr }) => sameNet(cidr, subnet))
          .map(({ cidr }) => ({
            check: 'subnet-elsewhere',
            level: 'error' as const,
            what: `${formatCidr(subnet)} is also behind ${name}, which has ${cidr}`,
            why: 'the node sends what is for pods out there, or what is for its neighbours to the bridge',
            fix: `vi ${network.network.file}  # a subnet that the node does not use`,
            isSafe: false,
          })),
      ),
  )
})

function sameNet(text: string, subnet: Cidr): boolean {
  const cidr = parseCidr(text)
  return cidr !== undefined && cidr.ip.family === subnet.ip.family && overlaps(cidr, subnet)
}
