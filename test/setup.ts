/** As the executable does it when a request has an IPv6 address in it. */
import { loadIpv6 } from '../src/core/ip.ts'

await loadIpv6()
