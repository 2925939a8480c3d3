/**
 * One look at nf_tables that many questions share: which tables there are, and what is in those that are asked for.
 * Each program that is not started saves as much as the rest of a call costs.
 */
import { TABLE } from '../core/kinds/masquerade.ts'
import type { SeenMasquerade } from '../core/resource.ts'
import { listTables, readTable } from './nft.ts'
import { type NftObject, parseMasquerade } from './nft-json.ts'
import { lookUpTool } from './tools.ts'

export interface Tables {
  has(family: string, name: string): boolean
  /** All there is in a table, as it was when it was first asked for; nothing when there is none of this name. */
  read(family: string, name: string): Promise<readonly NftObject[]>
}

/**
 * @returns undefined without nft: then nobody can tell
 * @throws Fault 102 with nft's words
 */
export async function openTables(): Promise<Tables | undefined> {
  if (lookUpTool('nft') === undefined) return undefined
  const names = await listTables()
  const documents = new Map<string, Promise<readonly NftObject[]>>()
  return {
    has: (family, name) => names.has(`${family} ${name}`),
    read(family, name) {
      const key = `${family} ${name}`
      const document = documents.get(key) ?? (names.has(key) ? readTable(family, name) : Promise.resolve([]))
      documents.set(key, document)
      return document
    },
  }
}

/**
 * What there is in all tables that Pontoon puts elements into.
 * @param inet whether the kernel has NAT in the family `inet`
 */
export async function readRules(inet: boolean, tables?: Tables): Promise<SeenMasquerade> {
  const seen = tables ?? (await openTables())
  if (!seen) return parseMasquerade([])
  const masquerade = (inet ? ['inet'] : ['ip', 'ip6']).map((family) => seen.read(family, TABLE))
  const filter = ['bridge', 'inet'].map((family) => seen.read(family, 'pontoon'))
  return parseMasquerade((await Promise.all([...masquerade, ...filter])).flat())
}
