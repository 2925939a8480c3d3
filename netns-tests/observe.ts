/** What a lab holds: its links, addresses, routes, packet filter and files, and what should not be left of a pod. */
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json, Lab } from './lab.ts'
import { NET } from './plugin.ts'

export const STORE = '/var/lib/cni/networks'

/** The files of a folder of the lab and below, by path, with their content; a folder without files ends in a slash. */
export function files(lab: Lab, folder: string): Record<string, string> {
  const found: Record<string, string> = {}
  const visit = (path: string) => {
    const outside = join(lab.root, path)
    if (statSync(outside).isDirectory()) {
      const names = readdirSync(outside)
      if (names.length === 0) found[`${path}/`] = ''
      for (const name of names.sort()) visit(join(path, name))
    } else found[path] = readFileSync(outside, 'latin1')
  }
  if (existsSync(join(lab.root, folder))) visit(folder)
  return found
}

/** The reservations of a network: address → content. */
export function store(lab: Lab, network: string = NET): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files(lab, `${STORE}/${network}`))
      .map(([path, content]) => [path.slice(`${STORE}/${network}/`.length), content] as const)
      .filter(([name]) => /^[0-9a-f.:]+$/.test(name) && /[.:]/.test(name)),
  )
}

export function lastReserved(lab: Lab, range = 0, network: string = NET): string {
  return readFileSync(`${lab.root}${STORE}/${network}/last_reserved_ip.${range}`, 'utf8')
}

/** Makes all that Pontoon has noted an hour old: past every time of grace. */
export function age(lab: Lab): void {
  for (const [path, content] of Object.entries({ ...files(lab, STORE), ...files(lab, '/run/pontoon') })) {
    if (path.endsWith('/')) continue
    const older = content.replace(/"time":(\d+)/, (_, time) => `"time":${Number(time) - 3_600_000}`)
    writeFileSync(lab.root + path, older, 'latin1')
    const hourAgo = Date.now() / 1000 - 3600
    utimesSync(lab.root + path, hourAgo, hourAgo)
  }
}

/** Addresses of a device, with the prefix length; without link-local ones unless asked for. */
export function addresses(lab: Lab, device: string, netns?: string, linkLocal = false): string[] {
  return lab
    .ip(`${at(netns)}-j addr show dev ${device}`)
    .flatMap((link: Json) => link.addr_info ?? [])
    .filter((info: Json) => info.local !== undefined && (linkLocal || info.scope !== 'link'))
    .map((info: Json) => `${info.local}/${info.prefixlen}`)
}

export const at = (netns: string | undefined): string => (netns === undefined ? '' : `-n ${netns} `)

/** Every line of the packet filter, without handles and counters; [] when there is none. */
export function packetFilter(lab: Lab): string[] {
  const text = [['nft', 'list', 'ruleset'], ['iptables-save'], ['ip6tables-save']]
    .map((argv) => lab.run(argv).stdout)
    .join('\n')
  return text
    .split('\n')
    .map((line) => line.replace(/ # handle \d+| counter packets \d+ bytes \d+|\[\d+:\d+\]/g, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}

/** What tells nothing of a pod: where allocation goes on, who held a lock last, which boot the store has seen. */
const isHint = (path: string): boolean =>
  /\/(last_reserved_ip\.\d+|pontoon\.boot|gateways|lock|holder[^/]*)$/.test(path)

const withoutHints = (found: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(found).filter(([path]) => !isHint(path)))

/** All there is, less mere hints, to be compared with a later state. */
export function snapshot(lab: Lab): Json {
  const spaces = [undefined, ...lab.namespaces()]
  return {
    network: Object.fromEntries(spaces.map((netns) => [netns ?? 'host', networkOf(lab, netns)])),
    packetFilter: packetFilter(lab),
    store: withoutHints(files(lab, '/var/lib/cni')),
    index: withoutHints(files(lab, '/run/pontoon')),
  }
}

function networkOf(lab: Lab, netns: string | undefined): Json {
  const links = lab.ip(`${at(netns)}-d -j addr show`).filter((link: Json) => link.ifname !== undefined)
  const routes = [4, 6].flatMap((family) => lab.ip(`${at(netns)}-${family} -j route show table all`))
  return {
    links: links.map((link: Json) => ({
      ...Object.fromEntries(
        ['ifindex', 'ifname', 'mtu', 'master', 'address', 'ifalias', 'promiscuity'].map((key) => [key, link[key]]),
      ),
      up: link.flags.includes('UP'),
      addresses: link.addr_info
        .filter((info: Json) => info.scope !== 'link')
        .map((info: Json) => `${info.local}/${info.prefixlen}`),
    })),
    routes: routes
      .filter((route: Json) => !/^(fe80|ff00|fe80.*|multicast)/.test(route.dst) && route.type !== 'multicast')
      .map(({ dst, gateway, dev, metric, table }: Json) => ({ dst, gateway, dev, metric, table })),
  }
}

/**
 * What is left of pods that are gone: links, reservations, locks, index entries, packet filter lines. The bridge, its
 * address, `last_reserved_ip` and what a network has in common may stay.
 */
export function leftovers(lab: Lab, ...marks: readonly string[]): string[] {
  const links = lab
    .ip('-d -j link show')
    .filter((link: Json) => link.linkinfo?.info_kind === 'veth' || link.master !== undefined)
  const inside = lab.namespaces().flatMap((netns) =>
    lab
      .ip(`-n ${netns} -j link show`)
      .filter((link: Json) => link.ifname !== 'lo')
      .map((link: Json) => `link ${link.ifname} in ${netns}`),
  )
  const stored = Object.keys(withoutHints(files(lab, STORE))).filter((path) => path !== `${STORE}/${NET}/`)
  const indexed = Object.keys(withoutHints(files(lab, '/run/pontoon'))).filter((path) => !path.endsWith('/'))
  const locks = Object.keys({ ...files(lab, '/var/lib/cni'), ...files(lab, '/run/pontoon') })
  const names = (mark: string) =>
    /[.:]/.test(mark) ? new RegExp(`(?<![\\w.:])${mark.replaceAll('.', '\\.')}(?![\\w.:])`) : new RegExp(mark)
  const filter = packetFilter(lab).filter((line) => marks.some((mark) => names(mark).test(line)))
  return [
    ...links.map((link: Json) => `link ${link.ifname}`),
    ...inside,
    ...stored.map((path) => `store ${path}`),
    ...indexed.map((path) => `index ${path}`),
    ...locks.filter((path) => /\.lock\/?$/.test(path)).map((path) => `lock ${path}`),
    ...filter.map((line) => `packet filter: ${line}`),
  ]
}

/** The addresses and IDs of attachments: what `leftovers` looks for in the packet filter. */
export const marksOf = (...all: readonly { id: string; result: Json }[]): string[] =>
  all.flatMap(({ id, result }) => [id, ...result.ips.map((ip: Json) => ip.address.split('/')[0])])
