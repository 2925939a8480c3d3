/** What the processes of `ip` and `bridge` complain of when they end, as the error of an ADD. */
import { CODE, Fault } from '../core/fault.ts'
import { kindOf, nameOf } from '../core/kinds.ts'
import type { Step } from '../core/plan.ts'
import { isSettled } from '../core/verify.ts'
import { KERNEL_REMEDY } from '../core/vlans.ts'
import type { Hands, Host } from './apply.ts'
import { observed } from './observe.ts'
import type { LineError } from './session.ts'

/**
 * Ends the sessions and judges what failed.
 * @param forgiven the lines of the sandbox whose first failure is of no matter
 * @throws Fault of the first failure that matters
 */
export async function closeAll(
  steps: readonly Step[],
  hands: Hands,
  host: Host,
  forgiven: readonly string[],
): Promise<void> {
  const shared = steps.filter(
    ({ resource, run }) => kindOf(resource).scope === 'network' && run.some(({ tool }) => tool === 'ip'),
  )
  const [hostErrors, sandboxErrors, vlanErrors = []] = await Promise.all([
    hands.host.close(),
    hands.sandbox.close(),
    hands.vlans?.close(),
  ])
  const sharedLines = new Set(linesOf(shared, 'host'))
  // Another ADD may have made a shared resource in the meantime. What counts is that it is there.
  const settled = isSettled(
    shared.map(({ resource }) => resource),
    observed({ host }),
  )
  const errors = [
    ...hostErrors.filter((error) => !settled || !sharedLines.has(error.line)),
    ...vlanErrors,
    ...withoutFirst(sandboxErrors, forgiven),
  ]
  const first = errors[0]
  if (first) throw lineFault(first, steps)
}

/** The errors without the first one of each of these lines. */
function withoutFirst(errors: readonly LineError[], lines: readonly string[]): readonly LineError[] {
  const left = new Set(lines)
  return errors.filter(({ line: text }) => !left.delete(text))
}

function lineFault(error: LineError, steps: readonly Step[]): Fault {
  if (error.death?.code === CODE.tryAgain) return error.death
  const step = steps.find(({ run }) => run.some((op) => 'line' in op && op.line === error.line))
  const what = step ? `can't make ${nameOf(step.resource)}` : 'ip failed'
  if (/File exists/.test(error.text) && step?.resource.kind === 'veth') {
    const { ifname } = step.resource
    const remedy = 'the interface is already there in the container: remove it, or call DEL for its owner first'
    return new Fault(CODE.conflict, `interface ${ifname} already exists in the container`, remedy)
  }
  if (/Invalid "?netns"?|Invalid argument/.test(error.text) && step?.resource.kind === 'veth') {
    const remedy = `${error.text}; is CNI_NETNS a network namespace?`
    return new Fault(CODE.invalidEnvironment, `${what}`, remedy)
  }
  const isOfVlans = step?.resource.kind === 'vlan' || (step?.resource.kind === 'bridge' && step.resource.vlanFiltering)
  if (isOfVlans && /not supported/.test(error.text)) {
    return new Fault(CODE.kernel, `${what}: the kernel has no VLAN filtering for bridges`, KERNEL_REMEDY)
  }
  const tool = step?.resource.kind === 'vlan' ? 'bridge' : 'ip'
  return new Fault(CODE.kernel, what, error.line ? `${tool} ${error.line}: ${error.text}` : error.text)
}

export function linesOf(steps: readonly Step[], on: 'host' | 'sandbox'): readonly string[] {
  return steps.flatMap(({ run }) => run.flatMap((op) => (op.tool === 'ip' && op.on === on ? [op.line] : [])))
}
