/**
 * Stands in for `ip-address` in the bundles: the library is evaluated when the first IPv6 address is met, not at
 * every start. A node without IPv6 does not pay for it.
 */
let library

function load() {
  library ??= require('../../node_modules/ip-address/dist/ipv6.js')
  return library
}

/** Called with `new`: what a constructor returns is what `new` gives. */
export function Address6(text) {
  return new (load().Address6)(text)
}

Address6.fromBigInt = (value) => load().Address6.fromBigInt(value)
