/** Which attachments are dead: their container is gone, whatever their reservation says. Pure. */

export interface Traces {
  /** The boot that the attachment was made in. */
  readonly boot: string
  /** Does the recorded path still lead to the recorded namespace? */
  readonly netnsLives: boolean
  readonly hostVethLives: boolean
  /** Is the ADD that makes it still running? */
  readonly makerLives: boolean
}

/**
 * Dead: of another boot; or its namespace is gone, and the host end with it, and nobody is about to make it. No clock
 * has a say, since clocks are set.
 */
export function isDead(traces: Traces, boot: string): boolean {
  if (traces.boot !== boot) return true
  return !traces.netnsLives && !traces.hostVethLives && !traces.makerLives
}
