/** The commands about this node's networks, for the registry. */
import { command } from './command.ts'
import type { LeasesFlags } from './leases.ts'

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

export const NODE_COMMANDS = { leases }
