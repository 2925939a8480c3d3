/** All commands as data, from the registry: for completion and the manual. */
import { COMMANDS } from './registry.ts'
import { type Flag, type FlagInfo, flagInfo, type WordInfo, wordsOf } from './words.ts'

export interface CommandInfo {
  readonly name: string
  readonly brief: string
  readonly description: string
  readonly examples: readonly string[]
  readonly flags: readonly FlagInfo[]
  readonly words: readonly WordInfo[]
}

export function catalog(): readonly CommandInfo[] {
  return Object.entries(COMMANDS).map(([name, { brief, fullDescription = '', parameters }]) => {
    const [description = '', examples = ''] = fullDescription.split('\n\nEXAMPLES\n')
    return {
      name,
      brief,
      description,
      examples: examples.split('\n').map((line) => line.trim()),
      flags: Object.entries(parameters.flags ?? {}).map(([flag, of]) => flagInfo(flag, of as Flag)),
      words: wordsOf(parameters.positional),
    }
  })
}
