/** Complaints, on stderr. */
import * as engine from '#engine'
import { Fault } from '../core/fault.ts'
import { isFileError } from '../engine/engine.ts'
import { inLocale } from './output.ts'

/** What the operator should know, though the command goes on. */
export function warn(text: string): void {
  engine.writeStderr(inLocale(`pontoon: warning: ${text}\n`))
}

/** What ended a command. With a stack only when it is a fault of the program itself. */
export function tellFailure(error: unknown): void {
  engine.writeStderr(inLocale(`pontoon: ${describeFailure(error)}\n`))
}

function describeFailure(error: unknown): string {
  if (error instanceof Fault) return error.details === '' ? error.message : `${error.message}: ${error.details}`
  if (isFileError(error, 'EACCES', 'EPERM') && engine.userId() !== 0)
    return `${error.message}; root may: run it with sudo`
  if (isFileError(error)) return error.message
  return error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error)
}
