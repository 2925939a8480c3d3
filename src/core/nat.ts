/**
 * The nat table of iptables, as `iptables-save` prints it and `iptables-restore` takes it. Masquerading is in the
 * reference's form: a chain for each container on a network, and a jump to it for each of its addresses.
 */
import { type Family, withoutPrefix } from './ip.ts'

export interface NatRule {
  readonly chain: string
  /** With prefix length, '' when any. */
  readonly source: string
  /** With prefix length, `! ` in front when negated, '' when any. */
  readonly destination: string
  readonly comment: string
  /** With `--to-source ADDRESS` behind SNAT. */
  readonly target: string
}

export interface SavedNat {
  readonly chains: ReadonlySet<string>
  /** Each with the line that it was printed as. */
  readonly rules: readonly (NatRule & { readonly line: string })[]
}

export const NO_NAT: SavedNat = { chains: new Set(), rules: [] }

/** Reads what iptables-save printed; of many thousand lines only those about chains of CNI plugins are looked at. */
export function parseNat(text: string): SavedNat {
  const chains = new Set<string>()
  const rules: (NatRule & { line: string })[] = []
  for (const line of text.split('\n')) {
    if (!line.includes('CNI-')) continue
    if (line.startsWith(':')) chains.add(line.slice(1).split(' ')[0] as string)
    else if (line.startsWith('-A ')) rules.push({ ...parseRule(line), line })
  }
  return { chains, rules }
}

function parseRule(line: string): NatRule {
  const rule = { chain: '', source: '', destination: '', comment: '', target: '' }
  const members = {
    '-A': 'chain',
    '-s': 'source',
    '-d': 'destination',
    '--comment': 'comment',
    '-j': 'target',
  } as const
  const words = wordsOf(line)
  words.forEach((word, i) => {
    if (!Object.hasOwn(members, word)) return
    const negation = words[i - 1] === '!' ? '! ' : ''
    const option = word === '-j' && words[i + 2] === '--to-source' ? ` --to-source ${words[i + 3]}` : ''
    rule[members[word as keyof typeof members]] = negation + (words[i + 1] ?? '') + option
  })
  return rule
}

/** iptables-save puts what has a space in double quotes, with backslashes before quotes and backslashes. */
function wordsOf(line: string): readonly string[] {
  const words = line.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? []
  return words.map((word) => (word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word))
}

/** The line that adds a rule. */
export function appendLine({ chain, source, destination, comment, target }: NatRule): string {
  const negated = destination.startsWith('! ')
  return [
    `-A ${chain}`,
    ...(source ? [`-s ${source}`] : []),
    ...(destination ? [negated ? `! -d ${destination.slice(2)}` : `-d ${destination}`] : []),
    `-m comment --comment ${quoted(comment)}`,
    `-j ${target}`,
  ].join(' ')
}

/** The line that deletes the rule that this one adds. */
export function deletionOf(line: string): string {
  return line.replace(/^-A /, '-D ')
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

export function isSameRule(a: NatRule, b: NatRule): boolean {
  return (
    a.chain === b.chain &&
    a.source === b.source &&
    a.destination === b.destination &&
    a.comment === b.comment &&
    a.target === b.target
  )
}

/** Which of these lines, which make a chain and its rules, are still to be run. */
export function missingFrom(seen: SavedNat, lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => {
    if (line.startsWith('-N ')) return seen.chains.has(line.slice(3)) ? [] : [line]
    const rule = parseRule(line)
    if (seen.rules.some((have) => isSameRule(have, rule))) return []
    // In front of the rule that masquerades what is left, which another interface of the container may have made.
    return [rule.target === 'ACCEPT' ? line.replace(/^-A /, '-I ') : line]
  })
}

/** Addresses that jump to this chain. */
export function jumpersOf({ rules }: SavedNat, chain: string): readonly string[] {
  return rules.filter(({ target }) => target === chain).map(({ source }) => withoutPrefix(source))
}

/** Removes the jumps of some addresses, and the chain when nobody else jumps to it. Empty when none of it is there. */
export function removalOf(seen: SavedNat, chain: string, isGone: (address: string) => boolean): readonly string[] {
  const jumps = seen.rules.filter(({ target }) => target === chain)
  const gone = jumps.filter(({ source }) => isGone(withoutPrefix(source)))
  const isUnused = gone.length === jumps.length && seen.chains.has(chain)
  return [...gone.map(({ line }) => deletionOf(line)), ...(isUnused ? [`-F ${chain}`, `-X ${chain}`] : [])]
}

/** The comment on every rule of one container on a network, at most as long as iptables takes. */
export function natComment(network: string, containerID: string): string {
  return `${natCommentOf(network)}"${containerID}"`.slice(0, 255)
}

/** What the comments of a network begin with. */
function natCommentOf(network: string): string {
  return `name: "${network}" id: `
}

/** The container that a comment names, undefined when it is of another network, or of somebody else. */
export function containerOf(comment: string, network: string): string | undefined {
  const front = natCommentOf(network)
  return comment.startsWith(front) ? comment.slice(front.length).replaceAll('"', '') : undefined
}

/** The chains of a network's containers: chain → container ID. */
export function chainsOf({ rules }: SavedNat, network: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const { chain, target, comment } of rules) {
    const containerID = containerOf(comment, network)
    if (containerID === undefined) continue
    for (const name of [chain, target]) if (name.startsWith('CNI-')) found.set(name, containerID)
  }
  return found
}

export const MULTICAST: Readonly<Record<Family, string>> = { 4: '224.0.0.0/4', 6: 'ff00::/8' }
