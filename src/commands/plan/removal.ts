/** What a DEL or a GC would remove. */
import type { Request } from '../../cni/request.ts'
import { deletionOf } from '../../core/kinds/masquerade.ts'
import { removalOf } from '../../core/nat.ts'
import { readHostRoutes, removalLines } from '../../host/host-routes.ts'
import { readNat } from '../../host/iptables.ts'
import { hasInetNat } from '../../host/machine.ts'
import { readRules } from '../../host/nft-tables.ts'
import type { Victim } from '../../host/sweep.ts'
import { lookUpTool } from '../../host/tools.ts'
import { callOf, networkOf } from '../../verbs/call.ts'
import { findGarbage } from '../../verbs/garbage.ts'
import { elementsNamed, isOwnLink, routesTo, trace, victimOf, withoutPrefix } from '../../verbs/victims.ts'
import { readAllLinks } from '../repair/look.ts'
import type { PlannedStep } from './report.ts'

export async function planOfDel(request: Request): Promise<readonly PlannedStep[]> {
  const call = callOf(request)
  const traced = trace(call, call.attachment)
  const link = (await readAllLinks()).get(call.hostVeth)
  const named = lookUpTool('nft') === undefined ? [] : elementsNamed(await readRules(hasInetNat()), call.attachment)
  const elements = [...new Set([...(traced.entry?.elements ?? []), ...named])]
  const links = isOwnLink(link, call.attachment) ? [call.hostVeth] : []
  const victim = { ...victimOf(traced, links, elements), routes: routesTo(traced, call.netconf) }
  return [...stepsOf([victim]), ...(await natSteps(victim)), ...(await routeSteps([victim]))]
}

export async function planOfGc({ netconf }: Request): Promise<readonly PlannedStep[]> {
  if (netconf.disableGC) return []
  const { victims, problem } = await findGarbage(networkOf(netconf))
  if (problem !== undefined) throw problem
  const steps = [...stepsOf(victims)]
  for (const victim of victims) steps.push(...(await natSteps(victim)))
  return [...steps, ...(await routeSteps(victims))]
}

/** Rules by iptables, in chains that both plugins name alike. */
async function natSteps({ attachment, addresses }: Victim): Promise<readonly PlannedStep[]> {
  if (attachment.containerID === '') return []
  const { chainOf } = await import('../../core/reference.ts')
  const chain = chainOf(attachment)
  const steps: PlannedStep[] = []
  for (const family of [4, 6] as const) {
    const lines = removalOf(await readNat(family), chain, (address) => addresses.includes(address))
    const tool = family === 4 ? 'iptables' : 'ip6tables'
    if (lines.length > 0)
      steps.push(
        step(
          `masquerading by ${tool}`,
          lines.map((line) => `${tool} -t nat ${line}`),
        ),
      )
  }
  return steps
}

/** Of the node, to addresses that are a subnet of their own. */
async function routeSteps(victims: readonly Victim[]): Promise<readonly PlannedStep[]> {
  const lines = removalLines(
    await readHostRoutes(),
    victims.flatMap(({ routes = [] }) => routes),
  )
  return lines.map((line) => step(`route of the node to ${withoutPrefix(line.split(' ')[2] ?? '')}`, [`ip ${line}`]))
}

/** In the order of a sweep: links and rules, then what they used. */
function stepsOf(victims: readonly Victim[]): readonly PlannedStep[] {
  return victims.flatMap(({ attachment, links, elements, addresses }) => {
    const whose = attachment.containerID === '' ? 'nobody' : `${attachment.containerID}/${attachment.ifname}`
    return [
      ...links.map((name) => step(`host end ${name} of ${whose}`, [`ip link del dev ${name}`])),
      ...elements.map((element) => step(`rule ${element}`, [`nft '${deletionOf(element).join('; ')}'`])),
      ...addresses.map((address) => step(`reservation ${address} of ${whose}`, [`release ${address}`])),
    ]
  })
}

function step(what: string, run: readonly string[]): PlannedStep {
  return { what, run, undo: [], undone: '', ground: [] }
}
