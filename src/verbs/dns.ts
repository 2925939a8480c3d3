/** The result's DNS settings: those of the configuration, else those of the file that `ipam.resolvConf` names. */
import * as engine from '#engine'
import type { Dns, NetConf } from '../cni/netconf.ts'
import { CODE, Fault } from '../core/fault.ts'
import { isFileError } from '../engine/engine.ts'

/** @throws Fault 5 when the file can't be read */
export function readDns({ dns, ipam }: NetConf): Dns | undefined {
  if (dns || !ipam?.resolvConf) return dns
  try {
    return parseResolvConf(engine.readFile(ipam.resolvConf))
  } catch (error) {
    if (!isFileError(error)) throw error
    const remedy = `${error.code}: ipam.resolvConf names a file such as /etc/resolv.conf`
    throw new Fault(CODE.io, `can't read ${ipam.resolvConf}`, remedy, { cause: error })
  }
}

/** resolv.conf(5): the last domain and search lists count, nameservers and options add up. */
export function parseResolvConf(text: string): Dns {
  const dns = { nameservers: [] as string[], domain: '', search: [] as string[], options: [] as string[] }
  for (const line of text.split('\n')) {
    const [keyword, ...words] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/)
    if (words.length === 0) continue
    if (keyword === 'nameserver') dns.nameservers.push(words[0] as string)
    if (keyword === 'domain') dns.domain = words[0] as string
    if (keyword === 'search') dns.search = words
    if (keyword === 'options') dns.options.push(...words)
  }
  return dns
}
