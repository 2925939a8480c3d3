/** What a command takes, read out of its parameters as Stricli has them. Pure. */

export interface FlagInfo {
  /** `--conf-dir` */
  readonly name: string
  readonly brief: string
  /** What it takes: '' for a switch. */
  readonly placeholder: string
  readonly values: readonly string[]
  readonly default: string
}

export interface WordInfo {
  readonly placeholder: string
  readonly brief: string
  readonly isOptional: boolean
}

interface Positional {
  readonly placeholder?: string
  readonly brief: string
  readonly optional?: boolean
}

export interface Flag {
  readonly kind: string
  readonly brief: string
  readonly placeholder?: string
  readonly values?: readonly string[]
  readonly default?: unknown
}

export function flagInfo(name: string, { kind, brief, placeholder, values = [], default: preset }: Flag): FlagInfo {
  return {
    name: `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    brief,
    placeholder: kind === 'boolean' ? '' : (placeholder ?? values.join('|')),
    values,
    default: preset === undefined ? '' : String(preset),
  }
}

export function wordsOf(positional: unknown): readonly WordInfo[] {
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
