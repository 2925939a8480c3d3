/** The operator's entry: what `pontoon COMMAND …` does. Loaded only where no runtime calls. */
import { runCommandLine } from './commands/application.ts'
import { tellFailure } from './commands/failure.ts'

/**
 * Runs the command that these words name.
 * @returns the exit status: 0 it is done, 1 it failed (or found something to report), 2 the words were not understood
 */
export async function runCli(words: readonly string[]): Promise<number> {
  try {
    return await runCommandLine(words)
  } catch (error) {
    tellFailure(error)
    return 1
  }
}
