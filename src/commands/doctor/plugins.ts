/** The executables that runtimes start: are they there, and is Pontoon's this one? */
import * as engine from '#engine'
import { COMMIT, VERSION } from '../../core/build-info.ts'
import { readIfThere, statIfThere } from '../../host/files.ts'
import { runShell } from '../../host/inspect.ts'
import { calledAs, type NodeNetwork } from '../networks.ts'
import { shellWord } from '../ops.ts'
import type { Check, PluginFact } from './facts.ts'

/** Where runtimes and distributions have plugins. The last ones are MicroK8s' and k3s'. */
const FOLDERS = [
  '/opt/cni/bin',
  '/usr/lib/cni',
  '/usr/libexec/cni',
  '/usr/local/libexec/cni',
  '/usr/local/lib/cni',
  '/var/snap/microk8s/current/opt/cni/bin',
  '/var/lib/rancher/k3s/data/cni',
  '/var/lib/rancher/k3s/data/current/bin',
] as const

export const versionText = () => `pontoon ${VERSION} (${engine.describeEngine()}, commit ${COMMIT})`

export async function readPlugins(networks: readonly NodeNetwork[]): Promise<readonly PluginFact[]> {
  const needed = new Map<string, Set<string>>()
  for (const { name, netconf, plugins } of networks) {
    const ipam = netconf.ipam?.type ?? ''
    for (const type of [...plugins, ipam]) {
      // By these names Pontoon serves itself, or takes the request as if it was called by them.
      if (!/^[\w.-]+$/.test(type) || type === 'host-local') continue
      needed.set(type, (needed.get(type) ?? new Set()).add(name))
    }
  }
  const found = await findExecutables([...needed.keys()])
  return Promise.all(
    [...needed].map(async ([type, names]) => {
      const paths = found.filter((path) => path.endsWith(`/${type}`))
      const versions = type === 'pontoon' ? await versionsOf(paths.slice(0, 1)) : new Map()
      return { type, neededBy: [...names], paths, versions }
    }),
  )
}

/** Asks the shell, which knows what may be executed. */
async function findExecutables(types: readonly string[]): Promise<readonly string[]> {
  if (types.length === 0) return []
  const folders = [...new Set([...configuredFolders(), ...FOLDERS])].map(shellWord).join(' ')
  const test = '[ -f "$d/$t" ] && [ -x "$d/$t" ] && echo "$d/$t"'
  const { stdout } = await runShell(`for d in ${folders}; do for t in ${types.join(' ')}; do ${test}; done; done; :`)
  return stdout.split('\n').filter((path) => path !== '')
}

/** Those that doctor, containerd and CRI-O are told of: `bin_dir = "…"`, `bin_dirs = […]`, `plugin_dirs = […]`. */
function configuredFolders(): readonly string[] {
  const texts = ['/etc/containerd/config.toml', '/etc/crio/crio.conf'].map((path) => readQuietly(path))
  const told = (engine.readEnv('CNI_PATH') ?? '').split(':').filter((path) => path.startsWith('/'))
  return [...told, ...texts.flatMap((text) => foldersIn(text))]
}

/** Pure. */
export function foldersIn(toml: string): readonly string[] {
  const values = [...toml.matchAll(/^\s*(?:bin_dirs?|plugin_dirs)\s*=\s*(\[[^\]]*\]|["'][^"'\n]*["'])/gm)]
  return values.flatMap(([, value = '']) => [...value.matchAll(/["'](\/[^"'\n]*)["']/g)].map(([, path = '']) => path))
}

function readQuietly(path: string): string {
  try {
    return readIfThere(path) ?? ''
  } catch {
    return ''
  }
}

/** What Pontoon's executables that are not this very file say of themselves. */
async function versionsOf(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const own = statIfThere('/proc/self/exe')
  const versions = new Map<string, string>()
  for (const path of paths) {
    const file = statIfThere(path)
    if (!file || (file.inode === own?.inode && file.device === own.device)) continue
    const { status, stdout } = await runShell(`${shellWord(path)} --version`)
    versions.set(path, status === 0 ? (stdout.trim().split('\n')[0] ?? '') : '')
  }
  return versions
}

export const missingPlugins: Check = ({ plugins, command, installer }) =>
  plugins
    .filter(({ paths }) => paths.length === 0)
    .map(({ type, neededBy }) => ({
      check: 'plugin-missing',
      level: 'error',
      network: '',
      what: `no runtime finds the plugin ${type}: it is in none of the folders of plugins, or not executable`,
      why: `every ADD of ${neededBy.join(', ')} fails`,
      fix: installationOf(type, { command, installer }),
      isSafe: false,
    }))

function installationOf(type: string, { command, installer }: { command: string; installer: string }): string {
  if (type === 'pontoon' || type === calledAs()) return `${command} install`
  return type === 'bridge' ? `${command} install --as bridge,host-local` : `${installer} containernetworking-plugins`
}

export const otherPlugins: Check = ({ plugins, version, command }) =>
  plugins.flatMap(({ versions }) =>
    [...versions]
      .filter(([, says]) => says !== version)
      .map(([path, says]) => ({
        check: 'plugin-other',
        level: 'warning',
        network: '',
        what: `runtimes start ${path}, which is ${says || 'not Pontoon'}; this is ${version}`,
        why: 'pods are made by that one: what this one says of them may not be what it does',
        fix: `${command} install --dir ${shellWord(path.slice(0, path.lastIndexOf('/')))}`,
        isSafe: false,
      })),
  )
