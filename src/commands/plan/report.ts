/** How a plan is told. Pure. */
import { count, type Paint } from '../text.ts'

export interface PlannedStep {
  readonly what: string
  readonly run: readonly string[]
  readonly undo: readonly string[]
  /** Without lines of its own: what becomes of it when the call fails later on. '' where nothing comes later. */
  readonly undone: string
  /** Only where tables and sets are missing. */
  readonly ground: readonly string[]
}

export type Planned =
  | {
      readonly ok: true
      readonly verb: string
      readonly steps: readonly PlannedStep[]
      readonly notes: readonly string[]
    }
  | { readonly ok: false; readonly verb: string; readonly code: number; readonly msg: string; readonly details: string }

export function planText(planned: Planned, paint: Paint): string {
  if (!planned.ok) {
    const { verb, code, msg, details } = planned
    return [
      `${verb} would be ${paint('red', 'refused')} with code ${code}: ${msg}`,
      ...(details ? [`  ${details}`] : []),
    ].join('\n')
  }
  const { verb, steps, notes } = planned
  const head = steps.length === 0 ? `${verb} would do nothing` : `${verb} would take ${count(steps.length, 'step')}`
  const body = steps.flatMap(({ what, run, undo, undone, ground }) => [
    '',
    paint('bold', what),
    ...run.map((line) => `  ${line}`),
    ...undo.map((line) => paint('dim', `  undo: ${line}`)),
    ...(undone === '' ? [] : [paint('dim', `  (${undone})`)]),
    ...ground.map((line) => paint('dim', `  where it is missing: ${line}`)),
  ])
  return [head, ...notes.map((note) => paint('yellow', `note: ${note}`)), ...body].join('\n')
}
