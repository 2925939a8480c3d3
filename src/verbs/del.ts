/**
 * DEL: removes all that belongs to the attachment, with or without its namespace, a former result or an unchanged
 * configuration. The names say what is whose. Once more is no error.
 */
import type { Request } from '../cni/request.ts'
import { line } from '../core/line.ts'
import { readLinks } from '../host/ip-json.ts'
import { hasInetNat, hasLink } from '../host/machine.ts'
import { readMasquerade, startNft } from '../host/nft.ts'
import { openSession } from '../host/session.ts'
import { sweep, throwFailures } from '../host/sweep.ts'
import { lookUpTool } from '../host/tools.ts'
import { type Call, callOf } from './call.ts'
import { elementsNamed, isOwnLink, type Traced, trace, victimOf } from './victims.ts'

export async function del(request: Request): Promise<void> {
  const call = callOf(request)
  const host = hasLink(call.hostVeth) ? openSession() : undefined
  const traced = trace(call, call.attachment)
  const nft = (traced.entry?.elements.length ?? 0) > 0 ? startNft() : undefined
  const links = host ? readLinks(await host.run([line`addr show dev ${call.hostVeth}`])) : new Map()
  const own = isOwnLink(links.get(call.hostVeth), call.attachment) ? [call.hostVeth] : []
  const victim = victimOf(traced, own, await elements(traced, call))
  throwFailures(await sweep([victim], call, { host, nft }), `DEL of container ${request.containerID}`)
}

/** Where the index does not tell, the rules themselves are asked; without nft there are none. */
async function elements(traced: Traced, call: Call): Promise<readonly string[]> {
  const known = traced.entry?.elements ?? []
  if (!traced.isUncertain || lookUpTool('nft') === undefined) return known
  return [...new Set([...known, ...elementsNamed(await readMasquerade(hasInetNat()), call.attachment)])]
}
