/** A configuration as verbs get it, from the keys that a test is about. */
import { parseHead } from '../../src/cni/head.ts'
import { type NetConf, parseNetConf } from '../../src/cni/netconf.ts'

export function netconf({ ipam, ...keys }: Record<string, unknown>): NetConf {
  const range = { type: 'host-local', subnet: '10.9.0.0/24' }
  const all = {
    cniVersion: '1.1.0',
    name: 'net1',
    type: 'pontoon',
    ...keys,
    ...(ipam ? { ipam: { ...range, ...ipam } } : {}),
  }
  return parseNetConf(parseHead(JSON.stringify(all)), 'ADD')
}
