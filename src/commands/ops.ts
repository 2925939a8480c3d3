/** The literal lines of operations, as one would type them. Pure. */
import type { Op } from '../core/resource.ts'

/** @param netns how the container's namespace is entered; for lines that run inside */
export function linesOf(ops: readonly Op[], netns = ''): readonly string[] {
  return ops.flatMap((op) => textOf(op, netns))
}

function textOf(op: Op, netns: string): readonly string[] {
  switch (op.tool) {
    case 'ip':
      return [op.on === 'host' ? `ip ${typed(op.line)}` : `nsenter --net=${shellWord(netns)} ip ${typed(op.line)}`]
    case 'bridge':
      return [`bridge ${typed(op.line)}`]
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
  return `sysctl -w ${shellWord(`${key.includes('.') ? key : key.replaceAll('/', '.')}=${value}`)}`
}

/**
 * A word as a shell takes it for itself. Who may name a pod's interface, or its files, must not thereby run commands
 * where somebody pastes what is shown, or `doctor --fix` runs it.
 */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", "'\\''")}'`
}

function typed(line: string): string {
  return line.split(' ').map(shellWord).join(' ')
}
