/** CHECK: compares everything that ADD made with what is there, and tells every difference. */

import type { Request } from '../cni/request.ts'
import { parseResult, type Result } from '../cni/result.ts'
import { labelOf } from '../core/attachment.ts'
import { describe, type Ends } from '../core/describe.ts'
import { CODE, Fault } from '../core/fault.ts'
import { parseCidr, parseIp } from '../core/ip.ts'
import { line } from '../core/line.ts'
import type { Observed, Resource } from '../core/resource.ts'
import { type Assigned, defaultRoutes, type RouteText } from '../core/routes.ts'
import { verify } from '../core/verify.ts'
import { type IndexEntry, readEntry } from '../host/index-files.ts'
import { readLinks, readRoutes } from '../host/ip-json.ts'
import { hasInetNat } from '../host/machine.ts'
import { readMasquerade } from '../host/nft.ts'
import { NO_MASQUERADE, observed, readSysctls } from '../host/observe.ts'
import { openSandbox, type Sandbox } from '../host/sandbox.ts'
import { openSession } from '../host/session.ts'
import { readOwner } from '../host/store.ts'
import { lookUpTool } from '../host/tools.ts'
import { type Call, callOf, hasOwnIpam, isDelegated } from './call.ts'
import { isOwnAlone, lookAtOwn, lookForVlanGateway } from './own-check.ts'

export async function check(request: Request): Promise<void> {
  const call = callOf(request)
  if (request.netconf.prevResult === undefined) {
    const remedy = 'CHECK compares with the result of ADD: the runtime passes it as prevResult'
    throw new Fault(CODE.invalidConfig, `network "${request.netconf.name}" has no prevResult`, remedy)
  }
  const former = parseResult(request.netconf.prevResult, { strict: true, of: 'prevResult' })
  const sandbox = openSandbox(request.netns)
  if (!sandbox) {
    const remedy = `${request.netns} is no network namespace`
    throw new Fault(CODE.unknownContainer, `container ${request.containerID} has no namespace`, remedy)
  }
  try {
    const found = readEntry(call.indexFolder, call.key)
    const entry = found === 'damaged' ? undefined : found
    const byIptables = entry?.masquerade === 'iptables'
    const natChain = byIptables ? (await import('../core/reference.ts')).chainOf(call.attachment) : undefined
    const vlanGateway = await lookForVlanGateway(call)
    const desired = describeFormer(call, former, sandbox, entry, { natChain, vlanGateway })
    const differences = verify(desired, await look(call, desired, sandbox, entry))
    if (differences.length === 0) return
    const what = `interface ${request.ifname} of container ${request.containerID}`
    const count = differences.length === 1 ? '' : ` (and ${differences.length - 1} more)`
    throw new Fault(CODE.drift, `${what} is not as ADD made it: ${differences[0]}${count}`, differences.join('; '))
  } finally {
    sandbox.close()
  }
}

function describeFormer(
  call: Call,
  former: Result,
  sandbox: Sandbox,
  entry: IndexEntry | undefined,
  more: Pick<Ends, 'natChain' | 'vlanGateway'>,
): readonly Resource[] {
  const { netconf, attachment } = call
  const inside = former.interfaces.findIndex(({ name, sandbox }) => name === attachment.ifname && Boolean(sandbox))
  const assigned = former.ips
    .filter((ip) => ip.interface === undefined || inside < 0 || ip.interface === inside)
    .flatMap(({ address, gateway }): Assigned[] => {
      const cidr = parseCidr(address)
      return cidr ? [{ cidr, gateway: gateway ? parseIp(gateway) : undefined }] : []
    })
  const own = former.interfaces[inside]
  const ends = {
    host: entry?.hostVeth ?? hostVethOf(call, former),
    hostMac: '',
    mac: own?.mac ?? '',
    label: labelOf(attachment),
    netns: sandbox.handle,
    bridgeMac: '',
    inetNat: hasInetNat(),
    ...more,
  }
  const isOwn = ends.host === call.hostVeth
  const options = {
    ...netconf,
    mtu: own?.mtu ?? (netconf.mtu || DEFAULT_MTU),
    // What it means to be silent about the default VLAN has changed with the reference's versions.
    preserveDefaultVlan: netconf.preserveDefaultVlan || !isOwn,
  }
  const desired = describe({
    options,
    attachment,
    ends,
    assigned,
    routes: formerRoutes(call, former, assigned),
    ownStore: hasOwnIpam(netconf),
  })
  return isOwn ? desired : desired.filter((resource) => !isOwnAlone(resource))
}

/** A veth's when nobody says otherwise: Ethernet's (ETH_DATA_LEN). */
const DEFAULT_MTU = 1500

/** The host end that the index does not tell: by its derived name, or, when another plugin made it, by the result. */
function hostVethOf(call: Call, { interfaces }: Result): string {
  const outside = interfaces.filter(({ name, sandbox }) => !sandbox && name !== call.netconf.bridge)
  return outside.some(({ name }) => name === call.hostVeth) ? call.hostVeth : (outside[0]?.name ?? call.hostVeth)
}

/** The routes of the configuration, with all their attributes; those that a later plugin took out are not missed. */
function formerRoutes({ netconf }: Call, former: Result, assigned: readonly Assigned[]): readonly RouteText[] {
  const written = isDelegated(netconf) ? former.routes : (netconf.ipam?.routes ?? [])
  const all = netconf.isDefaultGateway ? [...written, ...defaultRoutes(written, assigned)] : written
  return all.filter(({ dst }) => former.routes.some((route) => route.dst === dst))
}

async function look(
  call: Call,
  desired: readonly Resource[],
  sandbox: Sandbox,
  entry: IndexEntry | undefined,
): Promise<Observed> {
  const { netconf, attachment, storeFolder } = call
  const port = desired.find((resource) => resource.kind === 'port')
  const gateway = desired.find((resource) => resource.kind === 'vlanGateway')
  const outside = [netconf.bridge, port?.host, gateway?.name, gateway?.port].filter((name) => name !== undefined)
  const [links, [inside, routes], masquerade, own, elsewhere] = await Promise.all([
    lookOutside(outside.map((name) => line`addr show dev ${name}`)),
    lookInside(sandbox.handle, attachment.ifname),
    desired.some(({ kind }) => kind === 'masquerade') && lookUpTool('nft') !== undefined
      ? readMasquerade(hasInetNat())
      : NO_MASQUERADE,
    lookAtOwn(desired),
    lookElsewhere(call, desired, entry),
  ])
  const reservations = new Map<string, string>()
  for (const resource of desired) {
    if (resource.kind !== 'reservation') continue
    const owner = readOwner(storeFolder, resource.address)
    if (owner) reservations.set(resource.address, [owner.containerID, owner.ifname].filter(Boolean).join(' '))
  }
  return observed({
    host: readLinks(links),
    sandbox: readLinks(inside),
    routes: readRoutes(routes, attachment.ifname),
    masquerade,
    ...own,
    ...elsewhere,
    reservations,
    sysctls: readSysctls(desired),
  })
}

/** Rules in another form than Pontoon's own: their names cost digests that the others need not wait for. */
async function lookElsewhere(
  call: Call,
  desired: readonly Resource[],
  entry: IndexEntry | undefined,
): Promise<Partial<Observed>> {
  if (entry && !desired.some(({ kind }) => kind === 'iptables')) return {}
  const { lookAtNat, lookAtReference } = await import('./reference-check.ts')
  const [nat, reference] = await Promise.all([lookAtNat(desired), entry ? {} : lookAtReference(call)])
  return { nat, ...reference }
}

async function lookOutside(lines: readonly string[]): Promise<readonly unknown[]> {
  const session = openSession()
  const documents = await session.run(lines)
  await session.close() // what is not there is a difference, not a failure
  return documents
}

async function lookInside(netns: string, ifname: string): Promise<readonly [readonly unknown[], readonly unknown[]]> {
  const session = openSession(netns)
  const links = await session.run([line`addr show dev ${ifname}`])
  const routes = await session.run(['route show table all'])
  const errors = await session.close()
  const fatal = errors.find(({ line: text }) => text === '')
  if (fatal) throw new Fault(CODE.kernel, `can't enter the network namespace of the container`, fatal.text)
  return [links, routes]
}
