/** From the words of the command line to a command. Parsing and help are Stricli's; the commands are in registry.ts. */
import { buildApplication, buildRouteMap, run } from '@stricli/core'
import * as engine from '#engine'
import { COMMIT, VERSION } from '../core/build-info.ts'
import type { Context } from './command.ts'
import { inLocale } from './output.ts'
import { COMMANDS } from './registry.ts'

const DESCRIPTION = `Pontoon gives containers their network. Container runtimes call it with CNI_COMMAND in the environment;
called with a command, it is the operator's tool.

EXIT STATUS
  0  done, nothing amiss
  1  it failed, or it found what it looks for
  2  the words were not understood

EXAMPLES
  pontoon doctor
  pontoon leases --watch 2
  pontoon help install`

/** What counts as a slip of the fingers. Stricli's own threshold of 7 finds something like any short word. */
const ALIKE = { threshold: 2, weights: { insertion: 1, deletion: 1, substitution: 1, transposition: 0 } }

const application = buildApplication(
  buildRouteMap({
    routes: COMMANDS,
    docs: { brief: 'The CNI plugin Pontoon, and its tools', fullDescription: DESCRIPTION },
  }),
  {
    name: 'pontoon',
    versionInfo: { currentVersion: `pontoon ${VERSION} (${engine.describeEngine()}, commit ${COMMIT})` },
    scanner: { caseStyle: 'allow-kebab-for-camel', allowArgumentEscapeSequence: true, distanceOptions: ALIKE },
    documentation: { disableAnsiColor: true, onlyRequiredInUsageLine: true },
  },
)

/** @returns the exit status */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  const context: Context = {
    process: {
      stdout: { write: (text) => engine.writeStdout(inLocale(text)) },
      stderr: { write: (text) => engine.writeStderr(inLocale(text)) },
      exitCode: null,
    },
  }
  // `pontoon help install` and `pontoon version`, as other tools have it
  const [first, ...others] = words
  const inputs =
    first === 'help' ? [...others, '--help'] : first === 'version' && others.length === 0 ? ['--version'] : words
  await run(application, inputs, context)
  const status = Number(context.process.exitCode ?? 0)
  // Below zero are Stricli's own: a command, a flag or a value that it does not know.
  return status < 0 ? 2 : status
}
