/**
 * The host ends that the reference made for an attachment. Their names are drawn: so each has to be proved to be the
 * attachment's, and a port of the network's bridge.
 *
 * Proofs: the former result names it; the filter of the attachment's hardware address names it; or it is the other
 * end of the interface in the container, when the store or the former result knows the attachment. A namespace whose
 * interface has addresses, but none of the attachment's, is a stranger's.
 */
import { linkNameProblem } from '../cni/names.ts'
import type { Result } from '../cni/result.ts'
import { Fault } from '../core/fault.ts'
import { isPlainWord } from '../core/line.ts'
import { arePaired, holdsOneOf, isUnlabelledVeth } from '../core/pairing.ts'
import type { SeenLink } from '../core/resource.ts'
import { readLinks } from '../host/ip-json.ts'
import { hasLink } from '../host/machine.ts'
import { listNamespaces } from '../host/namespaces.ts'
import { openSandbox } from '../host/sandbox.ts'
import { openSession } from '../host/session.ts'

export interface Suspect {
  readonly ifname: string
  /** CNI_NETNS; '' when the caller has none. */
  readonly netns: string
  readonly bridge: string
  /** What the store and the former result have of it. */
  readonly addresses: readonly string[]
  readonly former: Result
  /** Links that rules name as its own. */
  readonly guarded: readonly string[]
}

export async function findHostEnds(suspect: Suspect): Promise<readonly string[]> {
  const { former, guarded, addresses } = suspect
  const named = former.interfaces
    .filter(({ sandbox }) => !sandbox)
    .map(({ name }) => name)
    .filter(isLinkName)
  if (addresses.length === 0 && named.length === 0 && guarded.length === 0) return []
  const ports = await readPorts([suspect.bridge, ...named])
  const known = ports.filter(({ name }) => named.includes(name) || guarded.includes(name))
  if (ports.length === 0 || known.length > 0) return known.map(({ name }) => name)
  const found = await findPeer(suspect, ports)
  return found ? [found.name] : []
}

/** A result is only what the runtime kept: what can't be a link's name is none. */
function isLinkName(name: string): boolean {
  return linkNameProblem(name) === undefined && isPlainWord(name)
}

/** The veths on these bridges that are not Pontoon's. */
async function readPorts(names: readonly string[]): Promise<readonly SeenLink[]> {
  if (!names.some(hasLink)) return []
  const session = openSession()
  // Not by `master`: `ip` gives up when that one is gone at this moment.
  const documents = await session.run(['addr show type veth'])
  await session.close()
  const ports = [...readLinks(documents).values()].filter(
    ({ master }) => master !== undefined && names.includes(master),
  )
  return ports.filter(isUnlabelledVeth)
}

/** By the namespace that the caller names; when it names none, by all that there are. */
async function findPeer(suspect: Suspect, ports: readonly SeenLink[]): Promise<SeenLink | undefined> {
  const sandbox = openSandbox(suspect.netns)
  if (!sandbox) return (await findPeers([suspect], ports))[0]
  try {
    const inside = sandbox.isOwn ? [] : await readVeths(sandbox.handle)
    return inside.flatMap((link) => peerOf(link, suspect, ports, true))[0]
  } finally {
    sandbox.close()
  }
}

/** Goes through all namespaces: the interface with an address that only the attachment can have is its. */
async function findPeers(
  suspects: readonly Pick<Suspect, 'ifname' | 'addresses'>[],
  ports: readonly SeenLink[],
): Promise<readonly SeenLink[]> {
  const known = suspects.filter(({ addresses }) => addresses.length > 0)
  if (known.length === 0 || ports.length === 0) return []
  const found: SeenLink[] = []
  for (const path of listNamespaces()) {
    const inside = await readVeths(path)
    found.push(...known.flatMap((suspect) => inside.flatMap((link) => peerOf(link, suspect, ports, false))))
  }
  return found
}

/** For attachments of which nothing but the store is known. */
export async function findHostEndsOf(
  suspects: readonly Pick<Suspect, 'ifname' | 'addresses'>[],
  bridge: string,
): Promise<readonly string[]> {
  const found = await findPeers(suspects, suspects.length > 0 ? await readPorts([bridge]) : [])
  return [...new Set(found.map(({ name }) => name))]
}

/** A namespace that has gone, or can't be entered, has none. */
async function readVeths(netns: string): Promise<readonly SeenLink[]> {
  const session = openSession(netns)
  try {
    return [...readLinks(await session.run(['addr show type veth'])).values()]
  } catch (error) {
    if (error instanceof Fault) return [] // a namespace that has gone meanwhile, or can't be entered, is not the one
    throw error
  } finally {
    await session.close()
  }
}

/** A reservation of the oldest format names no interface: then the address alone has to do. */
function peerOf(
  inside: SeenLink,
  { ifname, addresses }: Pick<Suspect, 'ifname' | 'addresses'>,
  ports: readonly SeenLink[],
  mayBeBare: boolean,
): readonly SeenLink[] {
  if (ifname !== '' && inside.name !== ifname) return []
  const holds = holdsOneOf(inside, addresses)
  if (!holds || (holds === 'bare' && !mayBeBare)) return []
  return ports.filter((port) => arePaired(port, inside))
}
