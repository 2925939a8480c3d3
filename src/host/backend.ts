/** Who masquerades: nftables, unless the configuration or the machine has it otherwise. */
import * as engine from '#engine'
import { lookUpTool } from './tools.ts'

export type Backend = 'nftables' | 'iptables'

/** The one that was asked for; else nftables, or iptables where the machine has that alone. */
export function chooseBackend(asked: Backend | undefined): Backend {
  if (asked !== undefined) return asked
  return lookUpTool('nft') === undefined && lookUpTool('iptables-restore') !== undefined ? 'iptables' : 'nftables'
}

/** Tells the log that it was not a choice. */
export function noteBackend(backend: Backend, asked: Backend | undefined): void {
  if (backend === 'nftables' || asked !== undefined) return
  engine.writeStderr('pontoon: nft is missing: iptables masquerades; set ipMasqBackend to "iptables" to say so\n')
}
