/** The hardware address that the caller asks for. */
import type { Request } from '../cni/request.ts'
import { CODE, Fault } from '../core/fault.ts'

/** In the order of precedence: runtimeConfig, args.cni, CNI_ARGS. */
export function chooseMac({ netconf, args }: Request): string | undefined {
  const text = netconf.runtimeConfig.mac ?? netconf.args.mac ?? args.mac
  if (text === undefined) return undefined
  const mac = text.toLowerCase().replaceAll('-', ':')
  const isUnicast = /^[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/.test(mac)
  if (isUnicast && mac !== '00:00:00:00:00:00') return mac
  const remedy = `expected a unicast address such as 02:00:00:00:00:01; found "${text}"`
  throw new Fault(CODE.invalidConfig, 'invalid hardware address', remedy)
}
