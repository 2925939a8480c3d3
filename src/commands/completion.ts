/** `pontoon completion`: what a shell needs to complete command lines; and the names of networks, which it asks for. */
import { catalog } from './catalog.ts'
import { type Shell, scriptFor } from './completion/scripts.ts'
import { listConfFiles, readConfFiles } from './networks.ts'
import { print, printAsItIs } from './output.ts'

export type CompletionFlags = { readonly confDir: string }

export function run({ confDir }: CompletionFlags, what: Shell | 'networks'): number {
  if (what !== 'networks') {
    printAsItIs(scriptFor(what, catalog()))
    return 0
  }
  const names = readConfFiles(listConfFiles(confDir)).flatMap(({ networks }) => networks.map(({ name }) => name))
  if (names.length > 0) print([...new Set(names)].join('\n'))
  return 0
}
