/** What an entry of the registry is made of. */
import {
  type BaseArgs,
  type BaseFlags,
  buildCommand,
  type Command,
  type CommandContext,
  type StricliProcess,
  type TypedCommandParameters,
} from '@stricli/core'
import { tellFailure } from './failure.ts'
import { wordsOf } from './words.ts'

export interface Context extends CommandContext {
  readonly process: StricliProcess
}

export interface Spec<FLAGS extends BaseFlags, ARGS extends BaseArgs> {
  /** One line, for the list of commands. */
  readonly brief: string
  /** What it does and what it leaves alone, for its own help. */
  readonly description: string
  /** Whole command lines. */
  readonly examples: readonly string[]
  readonly parameters: TypedCommandParameters<FLAGS, ARGS, Context>
  /** `() => import('./install.ts')`: read only when the command is run. Its `run` resolves to the exit status. */
  readonly load: () => Promise<{ readonly run: (flags: FLAGS, ...args: ARGS) => Promise<number> | number }>
}

/** A command as Stricli has it. What it throws is told on stderr, status 1. */
export function command<const FLAGS extends BaseFlags, const ARGS extends BaseArgs = []>(
  spec: Spec<FLAGS, ARGS>,
): Command<Context> {
  const { brief, description, examples, parameters, load } = spec
  const usage = usageOf(parameters)
  const built = buildCommand<FLAGS, ARGS, Context>({
    docs: {
      brief,
      fullDescription: `${description}\n\nEXAMPLES\n${examples.map((line) => `  ${line}`).join('\n')}`,
      customUsage: [usage],
    },
    parameters,
    async func(this: Context, flags: FLAGS, ...args: ARGS) {
      try {
        this.process.exitCode = await (await load()).run(flags, ...args)
      } catch (error) {
        tellFailure(error)
        this.process.exitCode = 1
      }
    },
  })
  return { ...built, formatUsageLine: ({ prefix }) => [...prefix, usage].join(' ') }
}

/** `[flags] [network]`: Stricli's own leaves out what is optional, or tells a list as if one word of it were needed. */
function usageOf({ positional }: { readonly positional?: unknown }): string {
  const words = wordsOf(positional).map(({ placeholder, isOptional }) =>
    isOptional ? `[${placeholder}]` : placeholder,
  )
  return ['[flags]', ...words].join(' ')
}
