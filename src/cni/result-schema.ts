/** Results of all specification versions in one schema. */
import * as v from 'valibot'
import { optDns, optRoutes } from './netconf-schema.ts'
import { keyed, opt, optText, optUnsigned, text } from './values.ts'

const link = keyed({
  name: optText,
  mac: optText,
  mtu: optUnsigned,
  sandbox: optText,
  socketPath: optText,
  pciID: optText,
})
const ip = keyed({ address: text, gateway: optText, interface: optUnsigned }, 'an object with an address')
const old = opt(keyed({ ip: text, gateway: optText, routes: optRoutes }, 'an object with an ip'))

export const resultSchema = keyed({
  interfaces: opt(v.array(link, 'a list of interfaces')),
  ips: opt(v.array(ip, 'a list of addresses')),
  ip4: old,
  ip6: old,
  routes: optRoutes,
  dns: optDns,
})
