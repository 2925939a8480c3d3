/** The node's own routes to pods: those that Pontoon made, which their protocol number tells. */
import { CODE, Fault } from '../core/fault.ts'
import { isAlone, PROTOCOL, routeDeletion } from '../core/kinds/host-route.ts'
import { line } from '../core/line.ts'
import { openSession } from './session.ts'

/** `10.9.0.5 cni0`, address and device. */
export async function readHostRoutes(): Promise<ReadonlySet<string>> {
  const session = openSession()
  try {
    const documents = await session.run([line`route show table all proto ${PROTOCOL}`])
    const routes = documents.flat() as readonly { readonly dst?: string; readonly dev?: string }[]
    return new Set(routes.map(({ dst = '', dev = '' }) => `${dst} ${dev}`))
  } finally {
    await session.close()
  }
}

/**
 * @param cidrs addresses with prefix length, of attachments that go
 * @returns nothing to do for those that have no such route
 */
export function routeRemovals(cidrs: readonly string[]): readonly (() => Promise<void>)[] {
  const alone = cidrs.filter(isAlone)
  return alone.length > 0 ? [() => removeRoutes(alone)] : []
}

async function removeRoutes(cidrs: readonly string[]): Promise<void> {
  const session = openSession()
  await session.run(cidrs.map(routeDeletion))
  // ESRCH: there is none, or it went with the bridge.
  const [first] = (await session.close()).filter(({ text }) => !/No such process/.test(text))
  if (first) throw new Fault(CODE.leftover, `can't remove a route of the node`, `ip ${first.line}: ${first.text}`)
}
