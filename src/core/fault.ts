/**
 * The one error that users see: what went wrong, in which object, and what to do about it.
 *
 * Everything that a configuration, a caller or a machine can do wrong is a `Fault`. Any other error is a bug in
 * Pontoon and is answered with code 999.
 */

/** Codes 1 to 99 as the CNI specification gives them (section "Error"); 100 and above are Pontoon's own. */
export const CODE = {
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  invalidEnvironment: 4,
  io: 5,
  decode: 6,
  invalidConfig: 7,
  tryAgain: 11,
  notAvailable: 50,
  limited: 51,
  /** No free address in a range set. */
  exhausted: 100,
  /** Something of the same name, address or owner is in the way. */
  conflict: 101,
  /** The kernel lacks a feature, or refused the change. */
  kernel: 102,
  /** CHECK: what is there differs from what ADD made. */
  drift: 103,
  /** A tool that Pontoon drives is missing, or is not the one expected. */
  tool: 104,
  /** DEL or GC could not remove everything. */
  leftover: 105,
  /** Another IPAM plugin broke the protocol. */
  delegate: 106,
  bug: 999,
} as const

export type Code = (typeof CODE)[keyof typeof CODE]

export class Fault extends Error {
  readonly code: number
  /** What was expected, what was found, and the remedy. */
  readonly details: string
  /** `message` names the object: it is the `msg` of the CNI error object. */
  constructor(code: number, message: string, details = '', options?: ErrorOptions) {
    super(message, options)
    this.name = 'Fault'
    this.code = code
    this.details = details
  }
}
