/**
 * Removes attachments, for DEL and GC alike: links and rules side by side, then reservations, then index entries, so
 * that an address is free only when nothing uses it any more. It does all it can and reports every failure at the
 * end.
 *
 * No lock is held while links and rules go. Nobody is given an address meanwhile whose reservation stands; when it does
 * not stand any more at the end, another removal was faster, and `restore.ts` puts back what may be somebody else's. A
 * host end bears the name of its attachment: it can only be that one's, begun anew, and no runtime calls ADD before the
 * DEL or GC has ended (specification 1.1.0, "Section 2"); what Pontoon reclaims by itself has none.
 */
import type { Attachment } from '../core/attachment.ts'
import { CODE, Fault } from '../core/fault.ts'
import { deletionOf } from '../core/kinds/masquerade.ts'
import { line } from '../core/line.ts'
import { free } from './free.ts'
import { isDoubtful, isUnclaimed, lessHeld, withoutHeld } from './held.ts'
import type { NodeRoute, SeenRoute } from './host-routes.ts'
import type { Owner } from './leases.ts'
import { hasLink } from './machine.ts'
import { type NftProcess, removeElements, startNft } from './nft.ts'
import type { Strayed } from './restore.ts'
import { type LineError, openSession, type Session } from './session.ts'

/** What belongs to one attachment, as far as it is known. */
export interface Victim {
  readonly attachment: Attachment
  readonly owner: Owner
  readonly addresses: readonly string[]
  /** Host ends that are provably its own. */
  readonly links: readonly string[]
  /** Elements of nft sets: `inet cni_plugins_masquerade pods_… 10.9.0.2`. */
  readonly elements: readonly string[]
  /** Of the node, to its addresses. */
  readonly routes?: readonly NodeRoute[]
  /** The ADD that made it, as `makerOf` says. What a later one has claimed since is not touched. */
  readonly maker?: string
  /** Not all that it has could be found out: its reservations and its entry stay, so that the rest is found later. */
  readonly isPartial?: boolean
}

export interface Ground {
  readonly storeFolder: string
  readonly indexFolder: string
}

/** Processes that were started ahead; each is ended here. And what else is to be removed. */
export interface SweepHands {
  readonly host?: Session | undefined
  readonly nft?: NftProcess | undefined
  /** Removals of other rules, which run beside and fail each by itself. They are found again without the index. */
  readonly also?: readonly (() => Promise<void>)[]
}

/**
 * @param alien addresses whose files name no owner, to be freed too
 * @returns what could not be done, one message each; empty when nothing of the victims is left
 */
export async function sweep(
  victims: readonly Victim[],
  ground: Ground,
  hands: SweepHands = {},
  alien: readonly string[] = [],
): Promise<readonly unknown[]> {
  const failures: unknown[] = []
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work()
      return true
    } catch (error) {
      failures.push(error)
      return false
    }
  }
  const others = (hands.also ?? []).map(attempt)
  const going = await goingOf(victims, ground, attempt)
  let routesGone: readonly SeenRoute[] = []
  const [links, elements, routes] = await Promise.all([
    attempt(() =>
      removeLinks(
        going.flatMap((victim) => victim.links),
        hands.host,
      ),
    ),
    attempt(() =>
      removeRules(
        going.flatMap((victim) => victim.elements),
        hands.nft,
      ),
    ),
    attempt(async () => {
      routesGone = await removeRoutes(going.flatMap((victim) => victim.routes ?? []))
    }),
  ])
  await Promise.all(others)
  // What still carries traffic keeps its address.
  const isBare = (victim: Victim) =>
    (links || !victim.links.some(hasLink)) &&
    (elements || victim.elements.length === 0) &&
    (routes || !victim.routes?.length)
  const bare = going.filter((victim) => !victim.isPartial && isBare(victim))
  const strayed: Strayed[] = []
  await attempt(() => free(bare, ground, links && elements && routes ? alien : [], strayed))
  if (strayed.length > 0) {
    await attempt(async () => (await import('./restore.ts')).restore(strayed, routesGone, ground))
  }
  return failures
}

/** The victims less what is another's by now. Where that can't be found out, what may be another's stays. */
async function goingOf(
  victims: readonly Victim[],
  ground: Ground,
  attempt: (work: () => Promise<void>) => Promise<boolean>,
): Promise<readonly Victim[]> {
  const unclaimed = victims.filter((victim) => isUnclaimed(victim, ground))
  const doubtful = unclaimed.filter((victim) => isDoubtful(victim, ground))
  if (doubtful.length === 0) return unclaimed
  let settled: readonly Victim[] = doubtful.map((victim) => ({
    ...lessHeld(victim, (address) => address !== ''),
    isPartial: true,
  }))
  await attempt(async () => {
    settled = await withoutHeld(doubtful, unclaimed, ground)
  })
  const isSettled = new Set(doubtful)
  return [...unclaimed.filter((victim) => !isSettled.has(victim)), ...settled]
}

async function removeLinks(links: readonly string[], session: Session | undefined): Promise<void> {
  if (links.length === 0) {
    await session?.close()
    return
  }
  const host = session ?? openSession()
  await host.run(links.map((name) => line`link del dev ${name}`))
  const errors = await host.close()
  // Gone in the meantime, with its namespace, is as good as removed.
  const isLeft = ({ line: text, death }: LineError) =>
    links.some((name) => (death || text.endsWith(` ${name}`)) && hasLink(name))
  const first = errors.find(isLeft)
  if (first?.death) throw first.death
  if (first) throw new Fault(CODE.leftover, `can't remove ${first.line.split(' ').at(-1)}`, `ip: ${first.text}`)
}

async function removeRules(elements: readonly string[], started: NftProcess | undefined): Promise<void> {
  if (elements.length === 0) {
    await started?.drop()
    return
  }
  await removeElements(started ?? startNft(), elements.map(deletionOf))
}

async function removeRoutes(routes: readonly NodeRoute[]): Promise<readonly SeenRoute[]> {
  // Hardly ever is there one: the subnet would have to be the address alone.
  return routes.length > 0 ? (await import('./host-routes.ts')).removeRoutes(routes) : []
}

/** Throws what a sweep could not do, as one error. */
export function throwFailures(failures: readonly unknown[], what: string): void {
  const first = failures[0]
  if (first === undefined) return
  const bug = failures.find((failure) => !(failure instanceof Fault))
  if (bug !== undefined) throw bug
  // What stops several removals is told once.
  const told = new Set((failures as readonly Fault[]).map((fault) => `${fault.message}: ${fault.details}`))
  if (told.size === 1) throw first
  throw new Fault(CODE.leftover, `${what}: ${told.size} things could not be removed`, [...told].join('; '))
}
