/** Which verb does what, in which role. */
import type { Request } from '../cni/request.ts'
import { versionDocument } from '../cni/version.ts'

/** @returns what goes to stdout: a JSON document, or '' */
export async function run(request: Request, calledAs: string): Promise<string> {
  if (request.verb === 'VERSION') return versionDocument(request.netconf.cniVersion)
  if (calledAs === 'host-local') return (await import('./ipam.ts')).ipam(request)
  switch (request.verb) {
    case 'ADD':
      return (await import('./add.ts')).add(request)
    case 'DEL':
      return nothing((await import('./del.ts')).del(request))
    case 'CHECK':
      return nothing((await import('./check.ts')).check(request))
    case 'GC':
      return nothing((await import('./gc.ts')).gc(request))
    case 'STATUS':
      return nothing((await import('./status.ts')).status(request))
  }
}

async function nothing(done: Promise<void>): Promise<string> {
  await done
  return ''
}
