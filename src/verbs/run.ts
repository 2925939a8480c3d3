/** Which verb does what, in which role. */
import type { Request } from '../cni/request.ts'
import { versionDocument } from '../cni/version.ts'
import { loadIpv6, mentionsIpv6 } from '../core/ip.ts'
import type { Ahead } from './ahead.ts'
import { isDelegated } from './call.ts'

/** Called by this name it plays the IPAM plugin. */
export function isIpam(calledAs: string): boolean {
  return calledAs === 'host-local'
}

/**
 * @param ahead what was started for an ADD; it is ended here
 * @returns what goes to stdout: a JSON document, or ''
 */
export async function run(request: Request, calledAs: string, ahead: Ahead | undefined): Promise<string> {
  if (request.verb === 'VERSION') return versionDocument(request.netconf.cniVersion)
  if (mentionsIpv6(request.stdin) || request.args.ips.some(mentionsIpv6)) await loadIpv6()
  if (isIpam(calledAs)) return (await import('./ipam.ts')).ipam(request)
  if (request.verb === 'ADD') return (await import('./add.ts')).add(request, ahead)
  if (isDelegated(request.netconf)) {
    await (await import('./delegated.ts')).runDelegated(request, () => runOwn(request))
  } else {
    await runOwn(request)
  }
  return ''
}

async function runOwn(request: Request): Promise<void> {
  switch (request.verb) {
    case 'DEL':
      return (await import('./del.ts')).del(request)
    case 'CHECK':
      return (await import('./check.ts')).check(request)
    case 'GC':
      return (await import('./gc.ts')).gc(request)
    case 'STATUS':
      return (await import('./status.ts')).status(request)
  }
}
