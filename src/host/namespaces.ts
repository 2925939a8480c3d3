/** All network namespaces that can be found: those with a name, and those of processes. */
import * as engine from '#engine'
import { listIfThere } from './files.ts'

/** Where runtimes and `ip netns` keep namespaces. */
const FOLDERS = ['/run/netns', '/run/docker/netns'] as const

/** A path of each, once, but for the plugin's own. */
export function listNamespaces(): readonly string[] {
  const found = new Map<string, string>()
  const paths = [
    ...FOLDERS.flatMap((folder) => listIfThere(folder).map((name) => `${folder}/${name}`)),
    ...listIfThere('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => `/proc/${pid}/ns/net`),
  ]
  const own = engine.stat('/proc/self/ns/net')
  for (const path of paths) {
    try {
      const { device, inode } = engine.stat(path)
      if (device === own.device && inode !== own.inode) found.set(String(inode), found.get(String(inode)) ?? path)
    } catch {
      // It has ended meanwhile, or is not ours to see.
    }
  }
  return [...found.values()]
}
