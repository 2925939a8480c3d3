/** What living pods rest on: the bridge, its gateway, kernel settings, rules; and the size of packets. */
import { nameOf } from '../../core/kinds.ts'
import type { Resource } from '../../core/resource.ts'
import { linesOf, shellWord, sysctlCommand } from '../ops.ts'
import type { Repair } from '../repair/plan.ts'
import { type Finding, type NetworkFacts, ofEach } from './facts.ts'

type Local = Omit<Finding, 'network'>

export const foreignBridge = ofEach(({ network: { netconf } }, { links }) => {
  const link = links.get(netconf.bridge)
  if (!link || link.type === 'bridge') return []
  return [
    {
      check: 'bridge-foreign',
      level: 'error',
      what: `${link.name} is a ${link.type || 'device'}, not a bridge`,
      why: 'every ADD is refused: something else on this node has the name of the network’s bridge',
      fix: `ip link del dev ${link.name}`,
      isSafe: false,
    },
  ]
})

/** What of it costs the pods what, and is mended by which command. */
export const drift = ofEach((facts, { command, uplink }) => {
  const { steps } = facts.repairs
  const of = (...kinds: readonly Resource['kind'][]) => steps.filter(({ resource }) => kinds.includes(resource.kind))
  const repair = `${command} repair ${facts.network.name}`
  const told = (resource: Resource) => `${nameOf(resource)}${podOf(resource, facts)}`
  const isGone = of('bridge').some(({ isPartial }) => !isPartial)
  return [
    ...of('bridge').map((step) => bridgeFinding(step, repair)),
    // Gateway, ports and the bridge's own settings went with the bridge, and come back with it.
    ...of('sysctl')
      .filter(({ resource }) => !isGone || !isOfBridge(resource, facts.network.netconf.bridge))
      .map((step) => local('forwarding-off', step, whyOfSysctl(step), typed(step))),
    ...facts.notForwarding.map((device) => notForwarding(device, device !== uplink)),
    // Behind the settings: a bridge without IPv6 takes no such address.
    ...(isGone ? [] : gatewayFindings(of('gateway'), of('vlanGateway').length > 0 ? repair : undefined)),
    ...grouped(isGone ? [] : of('port').filter(isSetting), {
      check: 'port-settings',
      told,
      why: 'between pods of this node packets go where the configuration does not want them, or not where it does',
      fix: repair,
    }),
    ...grouped(isGone ? [] : of('port', 'vlan', 'vlanGateway', 'hostRoute').filter((step) => !isSetting(step)), {
      check: 'port-wrong',
      told,
      why: 'pods are cut off, or in the wrong VLAN',
      fix: repair,
    }),
    ...grouped(of('masquerade', 'iptables', 'untracked'), {
      check: 'masquerade-missing',
      told,
      why: 'their packets leave with addresses that nobody outside can answer',
      fix: repair,
    }),
    ...grouped(of('spoofcheck'), {
      check: 'spoofcheck-missing',
      told,
      why: 'these pods may send with any hardware address',
      fix: repair,
    }),
  ]
})

/** @param repair where the device that has the address is to be made, too */
function gatewayFindings(steps: readonly Repair[], repair: string | undefined): readonly Local[] {
  const why = 'pods can’t leave their network: nobody answers to their gateway'
  return steps.map((step) => local('gateway-missing', step, why, repair ?? typed(step)))
}

/** ` of shop/web`, where it is a pod's own host end. */
function podOf(resource: Resource, { known }: NetworkFacts): string {
  const host = resource.kind === 'port' ? resource.host : resource.kind === 'vlan' ? resource.port : undefined
  const entry = known.find((one) => one.entry.hostVeth === host)?.entry
  return entry ? ` of ${entry.pod ?? `container ${entry.containerID}`}` : ''
}

/** Exactly the lines that make it right. */
function typed({ run }: Repair): string {
  return linesOf(run).join(' && ')
}

function local(check: Finding['check'], { resource, reason }: Repair, why: string, fix: string): Local {
  return { check, level: 'error', what: `${nameOf(resource)}: ${reason}`, why, fix, isSafe: true }
}

function bridgeFinding(step: Repair, repair: string): Local {
  if (step.isPartial && step.reason === 'want up, have down') {
    return local('bridge-down', step, 'all pods on it are cut off', typed(step))
  }
  if (step.isPartial)
    return local('bridge-wrong', step, 'its pods go without what the configuration asks for', typed(step))
  return local('bridge-gone', step, 'all its pods are cut off', repair)
}

function isOfBridge(resource: Resource, bridge: string): boolean {
  return resource.kind === 'sysctl' && resource.key.split('/').includes(bridge)
}

/** @param isOwn it is the network's own device, which nobody else forwards by */
function notForwarding(device: string, isOwn: boolean): Local {
  const key = `net/ipv4/conf/${device}/forwarding`
  const shown = key.includes('.') ? key : key.replaceAll('/', '.')
  return {
    check: 'forwarding-off',
    level: 'error',
    what: `sysctl ${shown}: want 1, have 0`,
    why: `the node drops what comes in by ${device} and is for somebody else`,
    fix: sysctlCommand(key, '1'),
    isSafe: isOwn,
  }
}

function whyOfSysctl({ resource }: Repair): string {
  const isIpv6 = resource.kind === 'sysctl' && resource.key.endsWith('disable_ipv6')
  return isIpv6 ? 'the bridge can’t have the IPv6 gateway' : 'the node drops what pods send beyond their network'
}

/** Hairpin and isolation: the port forwards all the same. */
const isSetting = ({ reason }: Repair) => /^want (hairpin|isolated) /.test(reason)

interface Group {
  readonly check: Finding['check']
  readonly told: (resource: Resource) => string
  readonly why: string
  readonly fix: string
}

function grouped(steps: readonly Repair[], { check, told, why, fix }: Group): readonly Local[] {
  const [first] = steps
  if (!first) return []
  const more = steps.length > 1 ? ` (and ${steps.length - 1} more)` : ''
  const what = `${told(first.resource)}: ${first.reason}${more}`
  return [{ check, level: 'error', what, why, fix, isSafe: true }]
}

/** What a repair must not touch: somebody has put it there. */
export const obstacles = ofEach(({ repairs, network: { netconf, name } }, { command }) =>
  repairs.obstacles
    .filter(({ resource }) => resource.kind === 'gateway')
    .map(({ resource, reason }) => {
      const others = reason.slice(reason.indexOf(', have ') + ', have '.length).split(', ')
      const device = resource.kind === 'gateway' ? resource.bridge : netconf.bridge
      return {
        check: 'gateway-conflict',
        level: 'error',
        what: `${nameOf(resource)}: ${reason}`,
        why: 'another address of this subnet is in the way: pods can’t reach their gateway, and every ADD is refused',
        fix: [...others.map((cidr) => `ip addr del ${cidr} dev ${device}`), `${command} repair ${name}`].join(' && '),
        isSafe: false,
      }
    }),
)

/** Larger packets than the way out takes are lost where somebody filters ICMP. */
export const mtu = ofEach(({ network: { netconf, file } }, { links, uplink }) => {
  const out = uplink === undefined ? undefined : links.get(uplink)
  if (!out || !netconf.isGateway || out.mtu === 0) return []
  const own = netconf.mtu || (links.get(netconf.bridge)?.mtu ?? 1500)
  if (own <= out.mtu) return []
  return [
    {
      check: 'mtu',
      level: 'warning',
      what: `pods on ${netconf.bridge} send packets of ${own} bytes, the uplink ${out.name} takes ${out.mtu}`,
      why: 'large transfers hang wherever "fragmentation needed" is filtered on the way',
      fix: `vi ${shellWord(file)}  # "mtu": ${out.mtu}, for pods from then on`,
      isSafe: false,
    },
  ]
})
