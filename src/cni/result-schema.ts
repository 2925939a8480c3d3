/** Results of all specification versions in one schema. */
import * as v from 'valibot'
import { optDns, optRoutes } from './netconf-schema.ts'
import { keyed, once, opt, optText, optUnsigned, text } from './values.ts'

export const resultSchema = once(() => {
  const link = keyed({
    name: optText,
    mac: optText,
    mtu: optUnsigned,
    sandbox: optText,
    socketPath: optText,
    pciID: optText,
  })
  const ip = keyed({ address: text, gateway: optText, interface: optUnsigned }, 'an object with an address')
  const old = opt(keyed({ ip: text, gateway: optText, routes: optRoutes() }, 'an object with an ip'))
  return keyed({
    interfaces: opt(v.array(link, 'a list of interfaces')),
    ips: opt(v.array(ip, 'a list of addresses')),
    ip4: old,
    ip6: old,
    routes: optRoutes(),
    dns: optDns,
  })
})
