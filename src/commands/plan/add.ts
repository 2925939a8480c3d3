/** What an ADD would do now: the verb's own decisions, with looking in place of taking. */
import type { Request } from '../../cni/request.ts'
import { type Candidate, candidates } from '../../core/allocate.ts'
import { sandboxMacOf } from '../../core/attachment.ts'
import { translationOf } from '../../core/describe.ts'
import { CODE, Fault } from '../../core/fault.ts'
import { formatIp } from '../../core/ip.ts'
import { kindOf, nameOf } from '../../core/kinds.ts'
import { planAdd } from '../../core/plan.ts'
import { describeRange } from '../../core/ranges.ts'
import type { Resource } from '../../core/resource.ts'
import { type Assigned, resolveRoutes } from '../../core/routes.ts'
import { bootId, type IndexEntry, listEntries } from '../../host/index-files.ts'
import { hasLink } from '../../host/machine.ts'
import { observed, readSysctls } from '../../host/observe.ts'
import { openSandbox, type Sandbox } from '../../host/sandbox.ts'
import { openSession } from '../../host/session.ts'
import { isOwner, listAddresses, readLastReserved, readOwner } from '../../host/store.ts'
import { findTool } from '../../host/tools.ts'
import { completeRoutes, desiredOf } from '../../verbs/add.ts'
import { usesIptables, withBackend } from '../../verbs/backend.ts'
import { type Call, callOf, isDelegated, isEntryDead } from '../../verbs/call.ts'
import { formerAddresses, livingHolderIn, parseWish, readFormer, type Wish, withFormer } from '../../verbs/claim.ts'
import { readDns } from '../../verbs/dns.ts'
import { withFormerGateways } from '../../verbs/gateways.ts'
import { loopbackFault } from '../../verbs/loopback.ts'
import { chooseMac } from '../../verbs/mac.ts'
import { conflictFault, type Making } from '../../verbs/make.ts'
import { withoutPrefix } from '../../verbs/victims.ts'
import { findVlanGateway, toolsOf } from '../../verbs/vlans.ts'
import { groundOf, linesOf } from '../ops.ts'
import { readAllLinks, readAllVlans } from '../repair/look.ts'
import type { Planned, PlannedStep } from './report.ts'

type Sure = Extract<Planned, { ok: true }>

/** @throws Fault as the ADD would */
export async function planOfAdd(request: Request, isNetnsGiven: boolean): Promise<Sure> {
  const call = callOf(withBackend({ ...request, verb: 'CHECK' }))
  const { netconf } = call
  const obstacle = loopbackFault(netconf)
  if (obstacle) throw obstacle
  const wish = isDelegated(netconf) ? { sets: [], asked: [] } : parseWish(netconf, request.args.ips)
  const askedMac = chooseMac(request)
  resolveRoutes(netconf.ipam?.routes ?? [], [], request.ifname)
  for (const family of [4, 6] as const) translationOf(netconf, family)
  readDns(netconf)
  for (const tool of toolsOf(netconf)) findTool(tool)
  const sandbox = sandboxOf(request, isNetnsGiven)
  const former = isNetnsGiven ? readFormer(call, sandbox) : undefined
  const assigned = chooseAddresses(call, wish, former)
  const mac = askedMac ?? sandboxMacOf(assigned[0]?.cidr.ip, call.key)
  const making: Making = {
    call,
    claim: { entry: entryOf(call, sandbox), assigned, former },
    sandbox,
    mac,
    vlanGateway: await gatewayOf(call),
    natChain: usesIptables(netconf) ? (await import('../../core/reference.ts')).chainOf(call.attachment) : undefined,
    taken: [],
  }
  const isAgain = former !== undefined && hasLink(call.hostVeth)
  return {
    ok: true,
    verb: 'ADD',
    steps: [...(isAgain ? [removalOfFormer(call)] : []), ...(await stepsOf(making, assigned))],
    notes: former ? ['a former ADD of this attachment is taken over: its addresses stay'] : [],
  }
}

async function stepsOf(making: Making, assigned: readonly Assigned[]): Promise<readonly PlannedStep[]> {
  const { call } = making
  const routes = completeRoutes(call.netconf, call.netconf.ipam?.routes ?? [], assigned)
  const desired = desiredOf(making, assigned, routes)
  const links = new Map(await readAllLinks())
  if (making.claim.former) links.delete(call.hostVeth)
  const vlans = desired.some(({ kind }) => kind === 'vlan') ? await readAllVlans() : new Map()
  const seen = observed({
    host: links,
    sysctls: readSysctls(desired),
    vlans,
    reservations: reservationsOf(call, assigned),
  })
  const plan = planAdd(await withFormerGateways(call, desired), seen)
  if (!plan.ok) throw conflictFault(plan, call.netconf)
  return plan.steps.map(({ resource, run, undo }) => ({
    what: nameOf(resource),
    run: linesOf(run, making.sandbox.path),
    undo: linesOf(undo, making.sandbox.path),
    undone: undo.length > 0 ? '' : fateOf(resource, call.hostVeth),
    ground: groundOf(run),
  }))
}

/** What the failure of a later step does to one that has no undo of its own. */
function fateOf(resource: Resource, hostVeth: string): string {
  if (kindOf(resource).scope === 'attachment') return `undone with ${hostVeth}`
  if (resource.kind === 'bridge') return 'undone when nobody uses it'
  return resource.kind === 'gateway' ? `undone with ${resource.bridge}, or kept` : 'kept: others may need it by then'
}

/** Those that it has already. */
function reservationsOf({ storeFolder, owner }: Call, assigned: readonly Assigned[]): ReadonlyMap<string, string> {
  return new Map(
    assigned
      .map(({ cidr }) => formatIp(cidr.ip))
      .filter((address) => isOwner(readOwner(storeFolder, address), owner))
      .map((address) => [address, `${owner.containerID} ${owner.ifname}`]),
  )
}

function removalOfFormer({ hostVeth }: Call): PlannedStep {
  return { what: 'what a former ADD left', run: [`ip link del dev ${hostVeth}`], undo: [], undone: '', ground: [] }
}

/** The path as it is typed stands for the namespace; without one, for a namespace that is yet to be. */
function sandboxOf({ netns, allowOwnNetns }: Request, isGiven: boolean): Sandbox {
  const none = { path: netns, handle: netns, device: 0, inode: 0, isOwn: false, close: () => {} }
  if (!isGiven) return none
  const opened = openSandbox(netns)
  opened?.close()
  const remedy = 'expected the path of a network namespace'
  if (!opened) throw new Fault(CODE.invalidEnvironment, `CNI_NETNS ${netns} is not a network namespace`, remedy)
  if (opened.isOwn && !allowOwnNetns) {
    throw new Fault(CODE.invalidEnvironment, `CNI_NETNS ${netns} is the plugin's own network namespace`, remedy)
  }
  return { ...none, device: opened.device, inode: opened.inode }
}

/** Which addresses it would be given, were it now. @throws Fault 100 or 101 */
function chooseAddresses(call: Call, wish: Wish, former: IndexEntry | undefined): readonly Assigned[] {
  const store = { folder: call.storeFolder }
  const left = former ? formerAddresses(former, call).map(withoutPrefix) : []
  const wanted = withFormer(wish, left, call, store)
  return wish.sets.map((_, i) => {
    const { ip, range } = wanted[i] ? requireOwn(call, wanted[i]) : nextFree(call, wish, i)
    return { cidr: { ip, prefix: range.subnet.prefix }, gateway: range.gateway }
  })
}

function requireOwn({ storeFolder, owner }: Call, wanted: Candidate): Candidate {
  const address = formatIp(wanted.ip)
  const holder = readOwner(storeFolder, address)
  const isFree = !listAddresses(storeFolder).includes(address) || isOwner(holder, owner)
  if (isFree) return wanted
  const who = holder ? `container ${holder.containerID}, interface ${holder.ifname}` : 'an unknown owner'
  throw new Fault(CODE.conflict, `address ${address} is taken`, `it is reserved by ${who} in ${storeFolder}`)
}

/** What the dead hold is given out when nothing else is left. */
function nextFree({ storeFolder, indexFolder }: Call, { sets }: Wish, index: number): Candidate {
  const set = sets[index] ?? []
  const taken = new Set(listAddresses(storeFolder))
  const dead = listEntries(indexFolder).filter(isEntryDead)
  const reclaimed = new Set(dead.flatMap(({ addresses }) => addresses.map(withoutPrefix)))
  const holderOf = livingHolderIn(indexFolder)
  const isFree = (address: string) => !taken.has(address) && !holderOf(address)
  const last = readLastReserved(storeFolder, index)
  for (const isGood of [isFree, (address: string) => isFree(address) || reclaimed.has(address)]) {
    for (const candidate of candidates(set, last)) if (isGood(formatIp(candidate.ip))) return candidate
  }
  const ranges = set.map(describeRange).join(', ')
  throw new Fault(CODE.exhausted, `no free address in range set ${index} (${ranges})`, `all are in ${storeFolder}`)
}

async function gatewayOf({ netconf }: Call) {
  const session = openSession()
  try {
    return await findVlanGateway(netconf, session)
  } finally {
    await session.close()
  }
}

/** Nothing of it is written. */
function entryOf({ attachment, hostVeth, netconf }: Call, { path, device, inode }: Sandbox): IndexEntry {
  return {
    version: 1,
    ...attachment,
    dataDir: netconf.ipam?.dataDir ?? '',
    done: false,
    pid: 0,
    addresses: [],
    elements: [],
    netns: path,
    device,
    inode,
    hostVeth,
    bridge: netconf.bridge,
    masquerade: 'none',
    boot: bootId(),
    time: 0,
  }
}
