/** What doctor knows: gathered once, before anything is judged. */
import type { FilterChain } from '../../core/filters.ts'
import type { SeenLink } from '../../core/resource.ts'
import type { IndexEntry } from '../../host/index-files.ts'
import type { Tool } from '../../host/tools.ts'
import type { ConfFile } from '../networks.ts'
import type { InsideDrift } from '../repair/inside.ts'
import type { Repairs } from '../repair/plan.ts'
import type { NetworkView } from '../view.ts'

export interface ToolFact {
  readonly tool: Tool
  readonly package: string
  /** undefined: it is missing. */
  readonly path: string | undefined
  readonly version: string
  /** Networks that need it. */
  readonly neededBy: readonly string[]
}

export interface LockFact {
  /** The folder that is the lock. */
  readonly path: string
  /** False for a file that somebody has put there: it locks as well. */
  readonly isFolder: boolean
  /** Milliseconds that it is held for, as far as that is known. */
  readonly age: number
  /** Its holder shows no sign of life. */
  readonly isStale: boolean
  /** 0: unknown. */
  readonly pid: number
  /** The holder's command line; '' when it has ended. */
  readonly command: string
}

/** An executable that a runtime starts for a network. */
export interface PluginFact {
  readonly type: string
  readonly neededBy: readonly string[]
  /** Where it is, in the runtimes' order; none: it is nowhere. */
  readonly paths: readonly string[]
  /** Of Pontoon's executables that are not this one: what `--version` says, by path. */
  readonly versions: ReadonlyMap<string, string>
}

/** Who holds the lock of iptables, for longer than a call takes. */
export interface XtablesFact {
  readonly path: string
  /** 0: it is in another PID namespace. */
  readonly pid: number
  readonly command: string
}

export interface StrayFact {
  readonly name: string
  readonly reservations: number
  readonly living: number
  /** The bridge is known: what is dead can be told, and removed. */
  readonly isKnown: boolean
}

/** A route of the node that leads somewhere. */
export interface RouteFact {
  /** With prefix length. */
  readonly destination: string
  readonly device: string
}

export interface NetworkFacts extends NetworkView {
  readonly repairs: Repairs
  /** What pods lack on their own side. */
  readonly inside: readonly InsideDrift[]
  /** Living pods by the hardware address of their interface. */
  readonly byMac: ReadonlyMap<string, readonly IndexEntry[]>
  /** Pods that live without a host end. */
  readonly cutOff: readonly IndexEntry[]
  /** Addresses that gc would free, and whatever else it would remove. */
  readonly dead: readonly {
    readonly containerID: string
    readonly ifname: string
    readonly addresses: readonly string[]
  }[]
  /** Elements of nft sets whose address nobody has. */
  readonly orphans: readonly string[]
  /** Every port of its bridge is one of Pontoon's. */
  readonly isQuiet: boolean
  readonly lock: LockFact | undefined
  /** Why nothing can be reserved; undefined when it can. */
  readonly storeProblem: StoreProblem | undefined
  /** Why nothing can be noted in the index. */
  readonly indexProblem: StoreProblem | undefined
  /** Devices whose own forwarding of IPv4 is off, though the node's is on. */
  readonly notForwarding: readonly string[]
}

export interface StoreProblem {
  readonly what: string
  /** What shows more of it, or mends it. */
  readonly fix: string
}

export interface Facts {
  /** How this executable is called. */
  readonly command: string
  readonly now: number
  readonly engine: string
  readonly kernel: string
  readonly isPrivileged: boolean
  /** `apt-get install -y`, or what this machine has in its place. */
  readonly installer: string
  readonly tools: readonly ToolFact[]
  readonly plugins: readonly PluginFact[]
  /** This executable, as `--version` says it. */
  readonly version: string
  readonly xtables: XtablesFact | undefined
  readonly routes: readonly RouteFact[]
  /** Connections that the kernel tracks, and how many it can; undefined: it tracks none. */
  readonly conntrack: { readonly count: number; readonly max: number } | undefined
  /** The folder of configurations; '' when files were named. */
  readonly folder: string
  /** nft's words when the kernel refuses to talk to it. */
  readonly nftProblem: string
  readonly links: ReadonlyMap<string, SeenLink>
  readonly uplink: string | undefined
  /** bridge-nf-call-iptables: bridged packets pass the packet filter. undefined: no br_netfilter. */
  readonly bridgeFilter: boolean | undefined
  readonly hasKubeProxy: boolean
  readonly forwarding: readonly FilterChain[]
  readonly files: readonly ConfFile[]
  readonly networks: readonly NetworkFacts[]
  /** Networks that have attachments, but no configuration. */
  readonly strays: readonly StrayFact[]
  /** Networks that can't be looked at without rights. */
  readonly unreadable: readonly string[]
}

/** Each has its section in docs/runbooks.md. */
export const FINDINGS = [
  'rights',
  'tool-missing',
  'plugin-missing',
  'plugin-other',
  'kernel-nftables',
  'kernel-vlans',
  'bridge-vlans',
  'br-netfilter',
  'conntrack-full',
  'conf-none',
  'conf-invalid',
  'conf-duplicate',
  'conf-first',
  'conf-gone',
  'subnet-overlap',
  'subnet-elsewhere',
  'route-elsewhere',
  'store-unusable',
  'lock-held',
  'xtables-lock',
  'bridge-foreign',
  'bridge-changed',
  'vlan-changed',
  'bridge-gone',
  'bridge-down',
  'bridge-wrong',
  'gateway-missing',
  'gateway-conflict',
  'forwarding-off',
  'port-wrong',
  'port-settings',
  'masquerade-missing',
  'spoofcheck-missing',
  'pod-cut-off',
  'pod-drift',
  'pod-mtu',
  'mac-duplicate',
  'forward-drop',
  'range-full',
  'range-nearly-full',
  'lease-lost',
  'lease-dead',
  'lease-ownerless',
  'rule-orphan',
  'mtu',
] as const

export interface Finding {
  readonly check: (typeof FINDINGS)[number]
  readonly level: 'error' | 'warning'
  /** '' when it is the node's. */
  readonly network: string
  readonly what: string
  readonly why: string
  /** The command that repairs it, as it is typed. */
  readonly fix: string
  /** It takes nothing away that somebody may use: `--fix` runs it. */
  readonly isSafe: boolean
}

export type Check = (facts: Facts) => readonly Finding[]

/** A check of one network after the other. */
export function ofEach(check: (network: NetworkFacts, facts: Facts) => readonly Omit<Finding, 'network'>[]): Check {
  return (facts) =>
    facts.networks.flatMap((network) =>
      check(network, facts).map((finding) => ({ ...finding, network: network.network.name })),
    )
}
