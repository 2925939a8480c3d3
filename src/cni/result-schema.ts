/** Results of all specification versions in one schema. Built once, when it is loaded. */
import * as v from 'valibot'
import { keyed } from './keyed.ts'
import { dns, routes } from './netconf-schema.ts'

const opt = v.exactOptional
const text = v.string('a string')
const natural = v.custom<number>((value) => Number.isInteger(value) && (value as number) >= 0, 'a whole number')

const link = keyed(
  {
    name: opt(text),
    mac: opt(text),
    mtu: opt(natural),
    sandbox: opt(text),
    socketPath: opt(text),
    pciID: opt(text),
  },
  'an object',
)

const old = keyed({ ip: text, gateway: opt(text), routes: opt(routes) }, 'an object with an ip')

export const compatible = keyed({
  interfaces: opt(v.array(link, 'a list of interfaces')),
  ips: opt(
    v.array(
      keyed({ address: text, gateway: opt(text), interface: opt(natural) }, 'an object with an address'),
      'a list of addresses',
    ),
  ),
  ip4: opt(old),
  ip6: opt(old),
  routes: opt(routes),
  dns: opt(dns),
})
