/**
 * `pontoon repair`: makes anew what living pods had on the host, after somebody has flushed the packet filter, or taken
 * an address, a setting or the bridge away. Done again, it changes nothing.
 */
import { loadIpv6 } from '../core/ip.ts'
import { nameOf } from '../core/kinds.ts'
import { listConfFiles, NO_NETWORKS, type NodeNetwork, readConfFiles, selectNetworks } from './networks.ts'
import { linesOf } from './ops.ts'
import { paintHere, print, printJson } from './output.ts'
import { applyRepairs } from './repair/apply.ts'
import { cutOff, desiredOf, livingOf, unknownGateways } from './repair/desired.ts'
import { lookAt, readAllLinks } from './repair/look.ts'
import { planRepair, type Repairs } from './repair/plan.ts'
import { findReferencePods, isDoneByThem, readTheirRules } from './repair/reference-pods.ts'
import { count, type Paint } from './text.ts'
import { withLabelled } from './unindexed.ts'
import { type NetworkView, viewOf } from './view.ts'

export type RepairFlags = {
  readonly confDir: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

export interface RepairedStep {
  /** `port`, `masquerade`, … */
  readonly kind: string
  readonly what: string
  readonly reason: string
  readonly lines: readonly string[]
}

export interface Outcome {
  readonly network: string
  readonly attachments: number
  readonly steps: readonly RepairedStep[]
  readonly failures: readonly string[]
  /** What only somebody else can mend. */
  readonly left: readonly string[]
}

export async function run(flags: RepairFlags, network?: string): Promise<number> {
  await loadIpv6()
  const known = readConfFiles(listConfFiles(flags.confDir)).flatMap(({ networks }) => networks)
  const outcomes: Outcome[] = []
  for (const one of selectNetworks(known, network)) outcomes.push(await repair(one, flags.dryRun ?? false))
  if (flags.json) printJson({ version: 1, applied: !flags.dryRun, networks: outcomes })
  else print(repairText(outcomes, flags.dryRun ?? false, paintHere()))
  return outcomes.some(({ failures, left }) => failures.length > 0 || left.length > 0) ? 1 : 0
}

async function repair(network: NodeNetwork, isDryRun: boolean): Promise<Outcome> {
  const view = withLabelled(viewOf(network), await readAllLinks())
  const first = await findRepairs(view)
  const failures = isDryRun ? [] : [...(await applyRepairs(first.steps, network.name))]
  // What the first round stood on may have been there in part only: that shows when all else is.
  const second = isDryRun || first.steps.length === 0 ? undefined : await findRepairs(view)
  if (second && second.steps.length > 0 && failures.length === 0)
    failures.push(...(await applyRepairs(second.steps, network.name)))
  return {
    network: network.name,
    attachments: first.attachments,
    steps: [...first.steps, ...(second?.steps ?? [])].map(({ resource, reason, run }) => ({
      kind: resource.kind,
      what: nameOf(resource),
      reason,
      lines: linesOf(run),
    })),
    failures,
    left: [...leftOf(view, second ?? first), ...first.left],
  }
}

export interface Found extends Repairs {
  /** How many attachments live. */
  readonly attachments: number
  /** What can't be told, one message each. */
  readonly left: readonly string[]
}

/** What the living attachments of a network lack, those of the reference plugin, too. */
export async function findRepairs(view: NetworkView): Promise<Found> {
  const links = await readAllLinks()
  const theirs = await findReferencePods(view, links)
  const rules = await readTheirRules(theirs.entries)
  const living = [...livingOf(view), ...theirs.entries]
  const desired = (await desiredOf(view, living, links)).filter((resource) => !isDoneByThem(resource, rules))
  const seen = { ...(await lookAt(desired, links)), ...rules }
  return {
    ...planRepair(desired, seen),
    attachments: living.length,
    left: [...theirs.left, ...unknownGateways(view, links)],
  }
}

function leftOf(view: NetworkView, { obstacles }: Repairs): readonly string[] {
  return [
    ...obstacles.map(({ resource, reason }) => `${nameOf(resource)}: ${reason}`),
    ...cutOff(view).map(
      ({ containerID, ifname, hostVeth }) =>
        `interface ${ifname} of container ${containerID}: its host end ${hostVeth} is gone; recreate the pod`,
    ),
  ]
}

/** Of a kind so many are told each with its lines; of more than that, the first few. */
const MANY = 12
const FEW = 3

function stepLines(steps: readonly RepairedStep[], verb: string, paint: Paint): readonly string[] {
  const kinds = [...new Set(steps.map(({ kind }) => kind))]
  return kinds.flatMap((kind) => {
    const own = steps.filter((step) => step.kind === kind)
    const shown = own.length > MANY ? own.slice(0, FEW) : own
    const rest = own.length - shown.length
    return [
      ...shown.flatMap(({ what, reason, lines }) => [
        `  ${verb} ${what} (${reason})`,
        ...lines.map((line) => paint('dim', `    ${line}`)),
      ]),
      ...(rest > 0 ? [`  ${verb} ${rest} more like it`] : []),
    ]
  })
}

export function repairText(outcomes: readonly Outcome[], isDryRun: boolean, paint: Paint): string {
  if (outcomes.length === 0) return NO_NETWORKS
  return outcomes
    .map(({ network, attachments, steps, failures, left }) => {
      const head = `${paint('bold', network)}  ${count(attachments, 'living attachment')}`
      if (steps.length + failures.length + left.length === 0) return `${head}, nothing to repair`
      const verb = isDryRun ? 'would make' : 'made'
      return [
        head,
        ...stepLines(steps, verb, paint),
        ...failures.map((text) => paint('red', `  could not make ${text}`)),
        ...left.map((text) => paint('yellow', `  left as it is: ${text}`)),
      ].join('\n')
    })
    .join('\n\n')
}
