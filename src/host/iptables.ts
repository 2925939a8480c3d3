/**
 * The nat table by iptables-restore(8) and iptables-save(8): one process a family, all lines or none.
 *
 * What iptables says when something is missing differs from version to version, and between its two kinds (legacy and
 * nft). So its words are not read: a script that was refused is followed by a look at what is there, and that decides.
 */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import type { Family } from '../core/ip.ts'
import { NO_NAT, parseNat, type SavedNat } from '../core/nat.ts'
import { type Exit, isFileError } from '../engine/engine.ts'
import { readIfThere } from './files.ts'
import type { Tables } from './nft-tables.ts'
import { findTool, lookUpTool, TOOL_ENV, type Tool } from './tools.ts'

/** Seconds to wait for /run/xtables.lock, which all of iptables' users hold in turn. */
const LOCK_WAIT = 15
const LIFETIME = (LOCK_WAIT + 5) * 1000

const TOOLS = {
  4: { save: 'iptables-save', restore: 'iptables-restore' },
  6: { save: 'ip6tables-save', restore: 'ip6tables-restore' },
} as const satisfies Record<Family, Record<string, Tool>>

/** Does masquerading by iptables in this family need a tool that is not there? @throws Fault 104 naming it */
export function requireIptables(families: readonly Family[]): void {
  for (const family of families) {
    findTool(TOOLS[family].restore)
    findTool(TOOLS[family].save)
  }
}

/**
 * Can there be NAT by iptables? Its newer kind keeps it in a table of nf_tables, its older one in a table that the
 * kernel names in /proc. Costs no process.
 * @param tables undefined when nobody can tell
 */
export function mayHaveNat(family: Family, tables: Tables | undefined): boolean {
  if (!tables || tables.has(family === 4 ? 'ip' : 'ip6', 'nat')) return true
  try {
    const names = readIfThere(`/proc/self/net/${family === 4 ? 'ip' : 'ip6'}_tables_names`) ?? ''
    return names.split('\n').includes('nat')
  } catch (error) {
    if (isFileError(error)) return true
    throw error
  }
}

/** What the nat table has; nothing where there is no iptables, or the kernel has no such table. */
export async function readNat(family: Family): Promise<SavedNat> {
  const path = lookUpTool(TOOLS[family].save)
  if (path === undefined) return NO_NAT
  const exit = await run([path, '-t', 'nat'], '')
  if (exit.status === 0) return parseNat(exit.stdout)
  if (exit.timedOut || /Permission denied|Operation not permitted/.test(exit.stderr)) throw iptablesFault(family, exit)
  return NO_NAT
}

/**
 * Runs lines on the nat table, all or none. Were they refused, it is looked what is there, and what `rest` makes of
 * it is run instead, until that is nothing.
 * @param lines undefined when it is to be looked first
 * @param wait seconds for the lock
 * @throws Fault 11 when the lock was not to be had in time, 102 with iptables' words
 */
export async function settleNat(
  family: Family,
  lines: readonly string[] | undefined,
  rest: (seen: SavedNat) => readonly string[],
  wait: number = LOCK_WAIT,
): Promise<void> {
  let failed = lines && (await restore(family, lines, wait))
  if (lines && !failed) return
  // Others add and remove meanwhile: what was seen may be gone when it is to be removed.
  for (let attempt = 0; attempt < 3; attempt++) {
    const left = rest(await readNat(family))
    if (left.length === 0) return
    failed = await restore(family, left, wait)
    if (!failed) return
  }
  if (failed) throw iptablesFault(family, failed)
}

/** @returns how it ended when the lines were refused */
async function restore(family: Family, lines: readonly string[], wait: number): Promise<Exit | undefined> {
  const script = ['*nat', ...lines, 'COMMIT', ''].join('\n')
  const exit = await run([findTool(TOOLS[family].restore), '--noflush', '-w', String(wait)], script)
  if (exit.status === 0) return undefined
  if (exit.timedOut || /xtables lock/.test(exit.stderr)) throw lockFault(exit, wait)
  return exit
}

function run(argv: readonly [string, ...string[]], script: string): Promise<Exit> {
  const child = engine.spawn({ argv, env: TOOL_ENV, deadline: LIFETIME })
  child.write(script)
  child.end()
  return child.exit
}

function lockFault({ timedOut }: Exit, wait: number): Fault {
  const waited = timedOut ? LIFETIME / 1000 : wait
  const remedy = `waited ${waited} s; "fuser -v /run/xtables.lock" tells who holds it; try again later`
  return new Fault(CODE.tryAgain, 'the lock of iptables, /run/xtables.lock, is held', remedy)
}

function iptablesFault(family: Family, { stderr, status, timedOut }: Exit): Fault {
  const said = stderr.trim().split('\n')[0] ?? ''
  const text = timedOut ? `it did not end within ${LIFETIME / 1000} s` : said || `it ended with status ${status}`
  const name = family === 4 ? 'iptables' : 'ip6tables'
  const remedy = `${name} refused the masquerade rules; try "${name} -t nat -S". The kernel needs NAT for IPv${family}`
  return new Fault(CODE.kernel, `${name}: ${text}`, remedy)
}
