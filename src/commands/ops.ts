/** The literal lines of operations, as one would type them. Pure. */
import type { Op } from '../core/resource.ts'

/** @param netns how the container's namespace is entered; for lines that run inside */
export function linesOf(ops: readonly Op[], netns = ''): readonly string[] {
  return ops.flatMap((op) => textOf(op, netns))
}

function textOf(op: Op, netns: string): readonly string[] {
  switch (op.tool) {
    case 'ip':
      return [op.on === 'host' ? `ip ${op.line}` : `nsenter --net=${netns} ip ${op.line}`]
    case 'bridge':
      return [`bridge ${op.line}`]
    case 'nft':
      return [`nft '${op.lines.join('; ')}'`]
    case 'iptables':
      return op.lines.map((line) => `${op.family === 4 ? 'iptables' : 'ip6tables'} -t nat ${line}`)
    case 'sysctl':
      return [sysctlCommand(op.key, op.value)]
    case 'store':
      return [`${op.action} ${op.address}`]
  }
}

/** What makes the tables and sets that elements are put into, where they are missing. */
export function groundOf(ops: readonly Op[]): readonly string[] {
  return ops.flatMap((op) => (op.tool === 'nft' ? op.whenMissing.map((line) => `nft '${line}'`) : []))
}

/** With slashes where a device's name has a dot in it, which sysctl(8) takes as well. */
export function sysctlCommand(key: string, value: string): string {
  return `sysctl -w ${key.includes('.') ? key : key.replaceAll('/', '.')}=${value}`
}
