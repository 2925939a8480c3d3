/** Which attachments are dead: their container is gone, whatever their reservation says. Pure. */

export interface Traces {
  /** The boot that the attachment was made in. */
  readonly boot: string
  /** Milliseconds since 1970. */
  readonly time: number
  /** Does the recorded path still lead to the recorded namespace? */
  readonly netnsLives: boolean
  readonly hostVethLives: boolean
  /** Is the ADD that makes it still running? */
  readonly makerLives: boolean
}

/** Milliseconds for which an attachment is left alone, dead or not: its ADD may be under way. */
export const GRACE = 10_000

/**
 * Dead: of another boot; or its namespace is gone, and the host end with it, and it is not brand-new. A clock that
 * was set back makes nothing look old.
 */
export function isDead(traces: Traces, now: { readonly boot: string; readonly time: number }): boolean {
  if (traces.boot !== now.boot) return true
  if (traces.netnsLives || traces.hostVethLives || traces.makerLives) return false
  return now.time - traces.time > GRACE
}
