/** The commands about this node's networks, for the registry. */
import { command } from './command.ts'
import type { CompletionFlags } from './completion.ts'
import type { DoctorFlags } from './doctor.ts'
import type { GcFlags } from './gc.ts'
import type { LeasesFlags } from './leases.ts'
import type { PlanFlags } from './plan.ts'
import type { RepairFlags } from './repair.ts'
import type { TopologyFlags } from './topology.ts'

export const CONF_FLAG = {
  kind: 'parsed',
  parse: String,
  brief: 'Where the configurations of networks are',
  placeholder: 'folder',
  default: '/etc/cni/net.d',
} as const

const JSON_FLAG = { kind: 'boolean', brief: 'Print JSON', withNegated: false, optional: true } as const

function network(brief: string) {
  return { brief, parse: String, placeholder: 'network', optional: true } as const
}

const leases = command<LeasesFlags, [network?: string]>({
  brief: 'Who has which address, and how full the ranges are',
  description: `Lists the addresses that are reserved, with container, pod, namespace, host end, age and state: "live", "dead" (its
container is gone), or "unknown" (Pontoon's index has nothing of it: another plugin made it). Reads only.`,
  examples: ['pontoon leases', 'pontoon leases pods --watch 2', 'pontoon leases --json'],
  parameters: {
    flags: {
      confDir: CONF_FLAG,
      json: JSON_FLAG,
      watch: {
        kind: 'parsed',
        parse: seconds,
        brief: 'Look again every so many seconds',
        placeholder: 'seconds',
        optional: true,
      },
    },
    positional: { kind: 'tuple', parameters: [network('This network alone')] },
  },
  load: () => import('./leases.ts'),
})

function seconds(text: string): number {
  const value = Number(text)
  if (value >= 0.1 && value <= 86_400) return value
  throw new RangeError(`expected a number of seconds from 0.1 to 86400; found "${text}"`)
}

const gc = command<GcFlags, [network?: string]>({
  brief: 'What belongs to containers that are gone; --apply removes it',
  description: `Lists addresses, links and rules of containers that are provably gone: of another boot, or without namespace and host
end. With --apply it removes them. With --valid everything goes that is not in the list, as with the verb GC: a JSON
list of {"containerID": "…", "ifname": "…"}.`,
  examples: [
    'pontoon gc',
    'pontoon gc pods --apply',
    'crictl pods -q | jq -R \'{containerID: ., ifname: "eth0"}\' | jq -s . | pontoon gc pods --valid - --apply',
  ],
  parameters: {
    flags: {
      confDir: CONF_FLAG,
      apply: { kind: 'boolean', brief: 'Remove what is listed', withNegated: false, optional: true },
      valid: {
        kind: 'parsed',
        parse: String,
        brief: 'The attachments that stay, a JSON list in this file; - is stdin',
        placeholder: 'file',
        optional: true,
      },
      json: JSON_FLAG,
    },
    positional: { kind: 'tuple', parameters: [network('This network alone')] },
  },
  load: () => import('./gc.ts'),
})

const repair = command<RepairFlags, [network?: string]>({
  brief: 'Make anew what living pods had on the host',
  description: `Makes masquerading, spoof checks, gateway addresses, kernel settings, the bridge and its ports as ADD made them, for all
living attachments: after "nft flush ruleset", a reload of firewalld, or somebody's "ip addr flush". What is there
stays as it is; done again, it changes nothing. Pods that another plugin made are left alone.`,
  examples: ['pontoon repair', 'pontoon repair pods', 'pontoon repair pods --dry-run'],
  parameters: {
    flags: {
      confDir: CONF_FLAG,
      dryRun: { kind: 'boolean', brief: 'Only say what would be made', withNegated: false, optional: true },
      json: JSON_FLAG,
    },
    positional: { kind: 'tuple', parameters: [network('This network alone')] },
  },
  load: () => import('./repair.ts'),
})

const doctor = command<DoctorFlags, string[]>({
  brief: 'What is wrong on this node, why it matters, and what repairs it',
  description: `Looks at every network of the node: tools, kernel, configuration, bridge, gateway, rules, packet filters, addresses,
locks. Each finding comes with the command that repairs it, and has its section in the runbooks under the name in
brackets. --fix runs those commands that take nothing away, and shows what they said. Status 1 when anything is amiss.`,
  examples: [
    'pontoon doctor',
    'pontoon doctor --fix',
    'pontoon doctor pods',
    'pontoon doctor /etc/cni/net.d/10-pods.conflist --json',
  ],
  parameters: {
    flags: {
      confDir: CONF_FLAG,
      fix: { kind: 'boolean', brief: 'Run the commands that are safe', withNegated: false, optional: true },
      json: JSON_FLAG,
    },
    positional: {
      kind: 'array',
      parameter: {
        brief: 'Files or names of networks, in place of all in the folder',
        parse: String,
        placeholder: 'conflist',
      },
    },
  },
  load: () => import('./doctor.ts'),
})

const topology = command<TopologyFlags, [network?: string]>({
  brief: 'Networks, bridges, ports, pods and addresses, as a tree or a picture',
  description: `Shows what is there now: each network with its bridge, gateway and NAT, the ports with their VLANs, the pods behind
them and their addresses. As a tree, for dot(1), as a Mermaid flowchart, as a self-contained SVG, or as JSON.`,
  examples: [
    'pontoon topology',
    'pontoon topology --format svg >node.svg',
    'pontoon topology pods --format dot | dot -Tpng -O',
  ],
  parameters: {
    flags: {
      confDir: CONF_FLAG,
      format: {
        kind: 'enum',
        values: ['tree', 'dot', 'mermaid', 'svg', 'json'],
        brief: 'What to print',
        default: 'tree',
      },
      theme: { kind: 'enum', values: ['auto', 'light', 'dark'], brief: 'Colours of the SVG', default: 'auto' },
      json: JSON_FLAG,
    },
    positional: { kind: 'tuple', parameters: [network('This network alone')] },
  },
  load: () => import('./topology.ts'),
})

const text = (brief: string, placeholder: string) =>
  ({ kind: 'parsed', parse: String, brief, placeholder, optional: true }) as const

const plan = command<PlanFlags, [verb: 'ADD' | 'DEL' | 'GC']>({
  brief: 'What ADD, DEL or GC would do, line by line',
  description: `Reads a configuration from stdin, a plugin's or a whole list, and prints the literal lines that would be run, each
with what takes it back; or why the call would be refused. Changes nothing. What is not given is filled in: container
"example", interface "eth0", a namespace that is yet to be made.`,
  examples: [
    'pontoon plan ADD </etc/cni/net.d/10-pods.conflist',
    'pontoon plan ADD --container c1 --netns /run/netns/c1 <pods.json',
    'pontoon plan DEL --container c1 <pods.json',
  ],
  parameters: {
    flags: {
      container: text('CNI_CONTAINERID', 'id'),
      ifname: text('CNI_IFNAME', 'name'),
      netns: text('CNI_NETNS', 'path'),
      args: text('CNI_ARGS', 'pairs'),
      path: text('CNI_PATH', 'folders'),
      json: JSON_FLAG,
    },
    positional: {
      kind: 'tuple',
      parameters: [{ brief: 'ADD, DEL or GC', parse: verbOf, placeholder: 'verb' }],
    },
  },
  load: () => import('./plan.ts'),
})

function verbOf(word: string): 'ADD' | 'DEL' | 'GC' {
  if (word === 'ADD' || word === 'DEL' || word === 'GC') return word
  throw new RangeError(`expected ADD, DEL or GC; found "${word}"`)
}

const SHELLS = ['bash', 'zsh', 'fish', 'networks'] as const
type Shell = (typeof SHELLS)[number]

export const completion = command<CompletionFlags, [shell: Shell]>({
  brief: 'A script by which a shell completes the words of pontoon',
  description: `Prints the script for bash, zsh or fish; its first line says where it goes. "networks" prints the names of the
node's networks, which is what the scripts ask for.`,
  examples: [
    'pontoon completion bash >/usr/share/bash-completion/completions/pontoon',
    'source <(pontoon completion zsh)',
  ],
  parameters: {
    flags: { confDir: CONF_FLAG },
    positional: {
      kind: 'tuple',
      parameters: [{ brief: 'bash, zsh or fish', parse: shellOf, placeholder: 'shell' }],
    },
  },
  load: () => import('./completion.ts'),
})

function shellOf(word: string): Shell {
  const shell = SHELLS.find((name) => name === word)
  if (shell) return shell
  throw new RangeError(`expected bash, zsh or fish; found "${word}"`)
}

export const NODE_COMMANDS = { doctor, leases, topology, plan, gc, repair }
