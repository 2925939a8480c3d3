/** All commands as data, from the registry: for completion and the manual. */
import { COMMANDS } from './registry.ts'

export interface FlagInfo {
  /** `--conf-dir` */
  readonly name: string
  readonly brief: string
  /** What it takes: '' for a switch. */
  readonly placeholder: string
  readonly values: readonly string[]
  readonly default: string
}

export interface CommandInfo {
  readonly name: string
  readonly brief: string
  readonly description: string
  readonly examples: readonly string[]
  readonly flags: readonly FlagInfo[]
  readonly words: readonly { readonly placeholder: string; readonly brief: string; readonly isOptional: boolean }[]
}

interface Positional {
  readonly placeholder?: string
  readonly brief: string
  readonly optional?: boolean
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

interface Flag {
  readonly kind: string
  readonly brief: string
  readonly placeholder?: string
  readonly values?: readonly string[]
  readonly default?: unknown
}

function flagInfo(name: string, { kind, brief, placeholder, values = [], default: preset }: Flag): FlagInfo {
  return {
    name: `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    brief,
    placeholder: kind === 'boolean' ? '' : (placeholder ?? values.join('|')),
    values,
    default: preset === undefined ? '' : String(preset),
  }
}

function wordsOf(positional: unknown): CommandInfo['words'] {
  const {
    kind,
    parameter,
    parameters = [],
  } = (positional ?? { kind: 'tuple' }) as {
    readonly kind: string
    readonly parameter?: Positional
    readonly parameters?: readonly Positional[]
  }
  if (kind === 'array' && parameter) {
    return [{ placeholder: `${parameter.placeholder ?? 'word'}…`, brief: parameter.brief, isOptional: true }]
  }
  return parameters.map(({ placeholder = 'word', brief, optional = false }) => ({
    placeholder,
    brief,
    isOptional: optional,
  }))
}
