/** nftables by nft(8): one script is one transaction. What nft says is turned into a code here and nowhere else. */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import { TABLE } from '../core/kinds/masquerade.ts'
import type { SeenMasquerade } from '../core/resource.ts'
import type { Child, Exit } from '../engine/engine.ts'
import { type NftObject, parseMasquerade } from './nft-json.ts'
import { KILLED } from './session.ts'
import { findTool, TOOL_ENV } from './tools.ts'
import { mark } from './trace.ts'

const LIFETIME = 25_000

/** A started `nft -f -`, which waits for its script while other work is done. */
export interface NftProcess {
  /** Runs the script; resolves to undefined, or to what went wrong. */
  run(lines: readonly string[]): Promise<NftFailure | undefined>
  /** Ends it without a script. */
  drop(): Promise<void>
}

export interface NftFailure {
  /** ENOENT: table, chain, set or element is not there. EEXIST: is there already. */
  readonly code: 'ENOENT' | 'EEXIST' | 'EOPNOTSUPP' | 'ETIMEDOUT' | 'EINTR' | 'other'
  readonly text: string
}

/** @throws Fault 104 when nft is missing */
export function startNft(): NftProcess {
  const child = startProcess(['-f', '-'])
  const finish = async (script: string) => {
    child.write(script)
    child.end()
    const exit = await child.exit
    mark('nft: ended')
    return exit
  }
  return {
    run: async (lines) => readFailure(await finish(`${lines.join('\n')}\n`)),
    drop: async () => {
      await finish('')
    },
  }
}

export function runNft(lines: readonly string[]): Promise<NftFailure | undefined> {
  return startNft().run(lines)
}

function startProcess(args: readonly string[]): Child {
  return engine.spawn({ argv: [findTool('nft'), ...args], env: TOOL_ENV, deadline: LIFETIME })
}

function readFailure(exit: Exit): NftFailure | undefined {
  if (exit.status === 0) return undefined
  const first =
    exit.stderr.split('\n').find((text) => text.includes('Error:')) ?? exit.stderr.trim().split('\n')[0] ?? ''
  const text = exit.timedOut
    ? `nft did not end within ${LIFETIME / 1000} s and was killed`
    : first.replace(/^.*Error: /, '')
  if (exit.timedOut) return { code: 'ETIMEDOUT', text }
  if (KILLED.includes(exit.status)) {
    return { code: 'EINTR', text: `nft was killed (status ${exit.status}), for want of memory perhaps` }
  }
  if (/No such file or directory|does not exist/.test(text)) return { code: 'ENOENT', text }
  if (/File exists/.test(text)) return { code: 'EEXIST', text }
  if (/Operation not supported|Protocol not supported/.test(text)) return { code: 'EOPNOTSUPP', text }
  return { code: 'other', text: text || `nft ended with status ${exit.status}` }
}

/**
 * Runs element lines; when what they stand on is missing, makes that first. Two that make it at the same time: one
 * fails as a whole, and finds it made when it tries again.
 * @throws Fault 102 with nft's words
 */
export async function addElements(
  process: NftProcess,
  lines: readonly string[],
  whenMissing: readonly (readonly string[])[],
): Promise<void> {
  let failure = await process.run(lines)
  for (let attempt = 0; failure && attempt < 3; attempt++) {
    if (failure.code !== 'ENOENT' && failure.code !== 'EEXIST') break
    for (const setUp of whenMissing) {
      const problem = await runNft(setUp)
      if (problem && problem.code !== 'EEXIST') throw nftFault(problem)
    }
    failure = await runNft(lines)
  }
  if (failure) throw nftFault(failure)
}

/** Removes elements; what is not there is done. One line at a time when the whole script fails. */
export async function removeElements(process: NftProcess, scripts: readonly (readonly string[])[]): Promise<void> {
  const failure = await process.run(scripts.flat())
  if (!failure) return
  if (failure.code !== 'ENOENT') throw nftFault(failure)
  if (scripts.length === 1) return
  for (const script of scripts) {
    const problem = await runNft(script)
    if (problem && problem.code !== 'ENOENT') throw nftFault(problem)
  }
}

export function nftFault(failure: NftFailure): Fault {
  if (failure.code === 'EINTR') return new Fault(CODE.tryAgain, `nft: ${failure.text}`, 'try again later')
  if (failure.code === 'ETIMEDOUT') {
    return new Fault(CODE.tryAgain, `nft: ${failure.text}`, 'something holds nf_tables up; try again later')
  }
  const remedy =
    failure.code === 'EOPNOTSUPP'
      ? 'the kernel lacks nf_tables NAT (CONFIG_NF_TABLES, CONFIG_NFT_NAT, CONFIG_NFT_MASQ), or for macspoofchk the ' +
        'family bridge (CONFIG_NF_TABLES_BRIDGE): load or enable it'
      : 'nft refused the rules; try "nft list ruleset"'
  return new Fault(CODE.kernel, `nft: ${failure.text}`, remedy)
}

/** @returns the masquerading that is there; nothing when there is no table. */
export async function readMasquerade(inet: boolean): Promise<SeenMasquerade> {
  const families = inet ? ['inet'] : ['ip', 'ip6']
  const documents = await Promise.all(families.map((family) => readTable(family, TABLE)))
  return parseMasquerade(documents.flat())
}

/** What there is in Pontoon's own tables. */
export async function readFilter(): Promise<SeenMasquerade> {
  const documents = await Promise.all(['bridge', 'inet'].map((family) => readTable(family, 'pontoon')))
  return parseMasquerade(documents.flat())
}

/** All there is in a table; nothing when there is no such table. */
export function readTable(family: string, table: string): Promise<readonly NftObject[]> {
  return list(['table', family, table])
}

async function list(what: readonly string[]): Promise<readonly NftObject[]> {
  const exit = await startListing(['-j', 'list', ...what])
  const failure = readFailure(exit)
  if (failure?.code === 'ENOENT' || failure?.code === 'EOPNOTSUPP') return []
  if (failure) throw nftFault(failure)
  return (JSON.parse(exit.stdout) as { nftables: readonly NftObject[] }).nftables
}

/** The tables that there are, each as `inet filter`: of many that may be missing only those need be listed. */
export async function listTables(): Promise<ReadonlySet<string>> {
  const objects = await list(['tables'])
  return new Set(objects.flatMap(({ table }) => (table ? [`${table.family} ${table.name}`] : [])))
}

function startListing(args: readonly string[]): Promise<Exit> {
  const child = startProcess(args)
  child.end()
  return child.exit
}
