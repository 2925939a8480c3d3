/** Every namespace has a `lo`, and it is no bridge. */
import type { NetConf } from '../cni/netconf.ts'
import { CODE, Fault } from '../core/fault.ts'

export function loopbackFault({ bridge }: NetConf): Fault | undefined {
  if (bridge !== 'lo') return undefined
  return new Fault(CODE.conflict, 'lo is not a bridge', 'give the network a bridge of another name: "bridge"')
}
