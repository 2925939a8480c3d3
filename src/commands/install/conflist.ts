/** The network that `install` writes when asked to. */
import * as engine from '#engine'
import { isObject, type JsonObject } from '../../cni/conform.ts'
import { CODE, Fault } from '../../core/fault.ts'
import { listIfThere, readIfThere, statIfThere } from '../../host/files.ts'
import { readRecord } from './record.ts'

export const CONF_FOLDER = '/etc/cni/net.d'
/** What runtimes read: libcni's list of endings. */
const ENDING = /\.(conf|conflist|json)$/

/** What the runtime fills in itself, and writes as a conflist then; runtimes don't read it as a network. */
const TEMPLATE = '.template'

export interface Conflist {
  readonly path: string
  readonly content: string
  /** There with this very content. */
  readonly isThere: boolean
  readonly isTemplate: boolean
  readonly name: string
  /** None in a template. */
  readonly plugins: readonly JsonObject[]
}

interface Order {
  readonly file: string
  readonly from: string | undefined
  readonly force: boolean
  /** The folder of plugins. */
  readonly folder: string
}

/**
 * What is to be written, and where.
 * @throws Fault when there is another file, or what is to be written is no network
 */
export function planConflist({ file, from, force, folder }: Order): Conflist {
  const path = file.includes('/') ? file : `${CONF_FOLDER}/${file}`
  const isTemplate = path.endsWith(TEMPLATE)
  if (!path.startsWith('/')) throw refused(file, 'the path must be absolute')
  if (!isTemplate && !path.endsWith('.conflist')) throw refused(file, 'it must be named *.conflist, or *.template')
  if (isTemplate && from === undefined) throw refused(file, 'say with --from which template it is')
  const content = from === undefined ? defaultNetwork(folder) : engine.readFile(from)
  const list = isTemplate ? { name: '', plugins: [] } : parseList(content, from ?? path)
  const before = readIfThere(path)
  const isOwn = readRecord(folder).conflists.some((one) => one.path === path && one.content === before)
  if (before !== undefined && before !== content && !force && !isOwn) {
    throw new Fault(CODE.conflict, `${path} exists`, 'it is left as it is; --force writes over it, and keeps a copy')
  }
  return { path, content, ...list, isTemplate, isThere: before === content }
}

function refused(file: string, remedy: string): Fault {
  return new Fault(CODE.invalidConfig, `--conflist ${file}`, remedy)
}

/** Both families, masqueraded, in every version that runtimes ask for. */
function defaultNetwork(folder: string): string {
  const bridge = {
    type: 'pontoon',
    bridge: 'cni0',
    isGateway: true,
    ipMasq: true,
    hairpinMode: true,
    ipam: {
      type: 'host-local',
      ranges: [[{ subnet: '10.22.0.0/16' }], [{ subnet: 'fd00:22::/64' }]],
      routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
    },
  }
  const portmap = { type: 'portmap', capabilities: { portMappings: true } }
  const hasPortmap = statIfThere(`${folder}/portmap`) !== undefined
  const plugins = hasPortmap ? [bridge, portmap] : [bridge]
  const head = { cniVersion: '1.0.0', cniVersions: ['0.4.0', '1.0.0', '1.1.0'], name: 'pods' }
  return `${JSON.stringify({ ...head, plugins }, undefined, 2)}\n`
}

function parseList(content: string, file: string): { readonly name: string; readonly plugins: readonly JsonObject[] } {
  let list: unknown
  try {
    list = JSON.parse(content)
  } catch (error) {
    throw new Fault(CODE.decode, `${file} is not JSON`, error instanceof Error ? error.message : '')
  }
  const { name, plugins } = isObject(list) ? list : {}
  if (typeof name === 'string' && name !== '' && Array.isArray(plugins) && plugins.length > 0) {
    if (plugins.every((plugin) => isObject(plugin) && typeof plugin.type === 'string')) return { name, plugins }
  }
  throw new Fault(
    CODE.invalidConfig,
    `${file} is not a list of plugins`,
    'it needs "name" and "plugins", each a "type"',
  )
}

/** Files that runtimes read before this one. */
export function sortedBefore(path: string): readonly string[] {
  const slash = path.lastIndexOf('/')
  const name = path.slice(slash + 1)
  return listIfThere(path.slice(0, slash))
    .filter((other) => ENDING.test(other) && other < name)
    .sort((a, b) => (a < b ? -1 : 1))
}
