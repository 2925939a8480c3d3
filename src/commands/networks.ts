/**
 * The networks of this node: what the configuration files of its runtimes say, as the plugin would read it.
 *
 * Read as libcni does: `.conf`, `.conflist` and `.json`, in the order of their names; name and version of a list go
 * into each of its plugins.
 */
import * as engine from '#engine'
import { isObject, type JsonObject, memberOf } from '../cni/conform.ts'
import { parseHead } from '../cni/head.ts'
import { type NetConf, parseNetConf } from '../cni/netconf.ts'
import { Fault } from '../core/fault.ts'
import { isFileError } from '../engine/engine.ts'
import { listIfThere, statIfThere } from '../host/files.ts'
import { listEntries, RUN_FOLDER } from '../host/index-files.ts'
import { type Network, networkOf } from '../verbs/call.ts'

export const CONF_DIR = '/etc/cni/net.d'
/** Told where there is nothing to tell. */
export const NO_NETWORKS = 'no network of Pontoon’s is configured'
const DATA_DIR = '/var/lib/cni/networks'

export interface NodeNetwork extends Network {
  readonly name: string
  /** '' for a network that only has reservations left. */
  readonly file: string
  /** The types of all plugins in its list. */
  readonly plugins: readonly string[]
}

export interface ConfFile {
  readonly path: string
  /** The network's name; '' when it can't be told. */
  readonly name: string
  /** The types of its plugins. */
  readonly plugins: readonly string[]
  /** Of Pontoon's plugins in it, one a network. */
  readonly networks: readonly NodeNetwork[]
  /** What is wrong with it, in the plugin's words. */
  readonly problem?: { readonly message: string; readonly remedy: string }
  readonly isMissing?: boolean
}

/** How the executable is called, without folders. */
export function calledAs(): string {
  const [called = 'pontoon'] = engine.commandLine()
  return called.slice(called.lastIndexOf('/') + 1)
}

/** The executable as commands that are shown to people call it. */
export function ownCommand(): string {
  const [called = 'pontoon'] = engine.commandLine()
  return /^[\w./+-]+$/.test(called) ? called : 'pontoon'
}

/**
 * The files that runtimes read in a folder, in their order. Without the usual folder there is no network yet.
 * @throws Fault 7 when another folder was named, and there is none
 */
export function listConfFiles(folder: string): readonly string[] {
  if (folder !== CONF_DIR && statIfThere(folder)?.kind !== 'directory') {
    throw new Fault(7, `there is no folder ${folder}`, '--conf-dir tells where the configurations of networks are')
  }
  return listIfThere(folder)
    .filter((name) => /\.(conf|conflist|json)$/.test(name))
    .sort((a, b) => (a < b ? -1 : 1))
    .map((name) => `${folder}/${name}`)
}

export function readConfFiles(paths: readonly string[]): readonly ConfFile[] {
  const own = new Set(['pontoon', 'bridge', calledAs()])
  return paths.map((path) => {
    try {
      return parseConfFile(path, engine.readFile(path), own)
    } catch (error) {
      if (!isFileError(error)) throw error
      const remedy = error.code === 'ENOENT' ? 'there is no such file' : error.code
      const problem = { message: "can't be read", remedy }
      return { path, name: '', plugins: [], networks: [], problem, isMissing: error.code === 'ENOENT' }
    }
  })
}

/** What one file says. Pure. */
export function parseConfFile(path: string, text: string, own: ReadonlySet<string>): ConfFile {
  let plugins: readonly string[] = []
  let name = ''
  try {
    const head = parseHead(text)
    name = head.name
    const list = memberOf(head.object, 'plugins')
    const members = Array.isArray(list) ? list.filter(isObject) : [head.object]
    plugins = members.map((member) => String(memberOf(member, 'type') ?? ''))
    const ours = members.filter((member) => own.has(String(memberOf(member, 'type') ?? '')))
    const confs = ours.map((member) => parseMember(member, name, head.cniVersion))
    const networks = confs.map((netconf) => ({ ...networkOf(netconf), name, file: path, plugins }))
    return { path, name, plugins, networks }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const problem = { message: error.message.replace('on stdin ', ''), remedy: error.details }
    return { path, name, plugins, networks: [], problem }
  }
}

function parseMember(member: JsonObject, name: string, cniVersion: string): NetConf {
  return parseNetConf(parseHead(JSON.stringify({ ...member, name, cniVersion })), 'ADD')
}

/** Of a network whose bridge nobody remembers. */
export const NO_BRIDGE = ''

/** Networks that have reservations, but no configuration any more. Their bridge is the one that the index has. */
export function strayNetworks(known: readonly NodeNetwork[]): readonly NodeNetwork[] {
  const names = new Set([...listIfThere(DATA_DIR), ...listIfThere(RUN_FOLDER)].filter(isNetworkName))
  for (const { name } of known) names.delete(name)
  return [...names].sort().map((name) => {
    const strayOn = (bridge: string): NodeNetwork => {
      const text = JSON.stringify({ cniVersion: '1.1.0', name, type: 'pontoon', bridge })
      return { ...networkOf(parseNetConf(parseHead(text), 'GC')), name, file: '', plugins: [] }
    }
    const stray = strayOn(NO_BRIDGE)
    const [bridge, ...others] = new Set(listEntries(stray.indexFolder).map((entry) => entry.bridge))
    return bridge === undefined || others.length > 0 ? stray : strayOn(bridge)
  })
}

/** Not `net@%other`, the index of another store, nor a note of who holds a lock. */
function isNetworkName(name: string): boolean {
  return /^[A-Za-z0-9][\w.-]*$/.test(name) && !name.startsWith('holder%')
}

/**
 * The files that words name: paths, or networks' names.
 * @throws Fault 7 for a word that is neither
 */
export function filesNamed(words: readonly string[], folder: string): readonly string[] {
  return words.flatMap((word) => {
    if (word.includes('/') || /\.(conf|conflist|json)$/.test(word) || statIfThere(word)) return [word]
    const files = readConfFiles(listConfFiles(folder))
    const found = files.filter(({ name }) => name === word).map(({ path }) => path)
    if (found.length > 0) return found
    const known = files.map(({ name }) => name).filter((name) => name !== '')
    throw new Fault(7, `there is neither a file nor a network "${word}"`, `known: ${known.join(', ') || 'none'}`)
  })
}

/** Those of this name, or all. @throws Fault 7 when there is none of this name */
export function selectNetworks(networks: readonly NodeNetwork[], name: string | undefined): readonly NodeNetwork[] {
  if (name === undefined) return networks
  const found = networks.filter((network) => network.name === name)
  if (found.length > 0) return found
  const known = [...new Set(networks.map((network) => network.name))].join(', ') || 'none'
  throw new Fault(7, `there is no network "${name}"`, `known: ${known}; --conf-dir tells where configurations are`)
}
