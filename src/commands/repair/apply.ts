/** Runs the steps of a repair, one after the other: it is no matter of milliseconds here. */
import { CODE, Fault } from '../../core/fault.ts'
import { nameOf } from '../../core/kinds.ts'
import { missingFrom } from '../../core/nat.ts'
import type { Op } from '../../core/resource.ts'
import { settleNat } from '../../host/iptables.ts'
import { keepRouterAdvertisements, writeSysctl } from '../../host/machine.ts'
import { nftFault, runNft } from '../../host/nft.ts'
import { openSession } from '../../host/session.ts'
import { endProgress, tellProgress } from '../progress.ts'
import type { Repair } from './plan.ts'

/** @returns what could not be done, one message each */
export async function applyRepairs(steps: readonly Repair[], network: string): Promise<readonly string[]> {
  const failures: string[] = []
  const ground = new Set<string>()
  for (const [i, { resource, run, isPartial }] of steps.entries()) {
    tellProgress(`${network}: step ${i + 1} of ${steps.length}, ${nameOf(resource)}`)
    try {
      for (const op of run) await (op.tool === 'nft' ? addRules(op, isPartial, ground) : runOp(op))
    } catch (error) {
      const text = error instanceof Fault ? `${error.message} (${error.details})` : String(error)
      failures.push(`${nameOf(resource)}: ${text}`)
    }
  }
  endProgress()
  return failures
}

async function runOp(op: Exclude<Op, { tool: 'nft' }>): Promise<void> {
  switch (op.tool) {
    case 'ip':
    case 'bridge':
      return runLine(op.tool, op.line)
    case 'sysctl':
      return runSysctl(op)
    case 'iptables':
      return settleNat(op.family, undefined, (seen) => missingFrom(seen, op.lines))
    case 'store':
      return
  }
}

async function runLine(tool: 'ip' | 'bridge', line: string): Promise<void> {
  const session = openSession(undefined, tool)
  await session.run([line])
  const [first] = await session.close()
  if (first && !/File exists/.test(first.text)) throw new Fault(CODE.kernel, `${tool} ${line}`, first.text)
}

function runSysctl({ key, value, optional }: Extract<Op, { tool: 'sysctl' }>): void {
  try {
    if (key === 'net/ipv6/conf/all/forwarding') keepRouterAdvertisements()
    writeSysctl(key, value)
  } catch (error) {
    if (!optional) throw error
  }
}

/**
 * Adds elements. What they stand on is made where that is what is missing, and once: what a reload has left of table
 * and sets is taken as it is.
 */
async function addRules(
  { lines, whenMissing }: Extract<Op, { tool: 'nft' }>,
  isPartial: boolean,
  ground: Set<string>,
): Promise<void> {
  const setUp = whenMissing.map((text) => text.replace(/^create set /, 'add set '))
  const key = setUp.join('\n')
  const failure = isPartial && !ground.has(key) ? { code: 'ENOENT' as const, text: '' } : await runNft(lines)
  if (!failure) return
  if (failure.code !== 'ENOENT' || ground.has(key)) throw nftFault(failure)
  ground.add(key)
  const problem = await runNft([...setUp, ...lines])
  if (problem) throw nftFault(problem)
}
