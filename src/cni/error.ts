/** The error object (specification 1.1.0, "Error"). */
import { CODE, Fault } from '../core/fault.ts'
import { NEWEST_VERSION } from './version.ts'

/** The error as the plugin prints it. Whatever is not a `Fault` is a bug of Pontoon: code 999, with the stack. */
export function errorDocument(error: unknown, cniVersion: string | undefined): string {
  const { code, msg, details } = error instanceof Fault ? told(error) : bug(error)
  return JSON.stringify({ cniVersion: cniVersion ?? NEWEST_VERSION, code, msg, details }, null, 4)
}

function told({ code, message, details }: Fault) {
  return { code, msg: message, details }
}

function bug(error: unknown) {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const stack = error instanceof Error ? (error.stack ?? text) : text
  return { code: CODE.bug, msg: `a bug in Pontoon: ${text}`, details: `please report it, with this: ${stack}` }
}
