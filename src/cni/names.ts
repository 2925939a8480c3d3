/** What may be a name: of a network, a container, an interface. Each is later part of a path or a command. */

/** Specification 1.1.0, "Network configuration format": network names and container IDs have the same form. */
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/

const LONGEST_LINK_NAME = 15

export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text)
}

/** True when a plugin's name could leave the directory that it is looked up in. */
export function hasPathSeparator(text: string): boolean {
  return text.includes('/') || text.includes('\\') || text.includes('\0')
}

/** Absolute, without `..` components and without control characters. */
export function isSafePath(text: string): boolean {
  return text.startsWith('/') && !text.split('/').includes('..') && !/[^ -\uffff]/.test(text)
}

/**
 * Why this can't be the name of a network interface, or undefined when it can.
 *
 * The kernel's rules (specification 1.1.0, CNI_IFNAME), and one of our own: it must be a single plain word where it
 * stands in a batch of `ip`, which cuts lines at `#` and knows quotes. `%` makes a name a template to the kernel.
 */
export function linkNameProblem(name: string): string | undefined {
  if (name === '') return 'is empty'
  if (name.length > LONGEST_LINK_NAME) return `is longer than ${LONGEST_LINK_NAME} characters`
  if (name === '.' || name === '..') return 'is . or ..'
  if (/[/:\s\u0085]/.test(name)) return 'contains /, : or white space'
  if (!/^[!-~]+$/.test(name)) return 'contains a character outside printable ASCII'
  if (/[#"'\\]/.test(name)) return 'contains #, a quote or a backslash'
  if (name.includes('%')) return 'contains %, which the kernel replaces'
  if (name.startsWith('-')) return 'starts with -'
  return undefined
}
