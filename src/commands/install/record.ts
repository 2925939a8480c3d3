/** What `install` made in a folder of plugins, kept beside it, so that what is removed later is that and nothing else. */
import * as engine from '#engine'
import { readIfThere, removeIfThere, replaceFile, statIfThere } from '../../host/files.ts'

export interface Record {
  /** Tells whether the executable is still the one that was put there. */
  readonly executable?: { readonly size: number; readonly modified: number }
  /** Other names that lead to it. */
  readonly names: readonly string[]
  /** Networks written, with their content. */
  readonly conflists: readonly { readonly path: string; readonly content: string }[]
}

const NOTHING: Record = { names: [], conflists: [] }
/** Milliseconds: an installation copies a few megabytes. */
const WAIT = 60_000
const STALE = 20_000

const recordOf = (folder: string): string => `${folder}/.pontoon.installed`

/** A record that can't be read is none: then what is there is taken for somebody else's. */
export function readRecord(folder: string): Record {
  try {
    return { ...NOTHING, ...JSON.parse(readIfThere(recordOf(folder)) ?? '{}') }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return NOTHING
  }
}

export function writeRecord(folder: string, record: Record): void {
  if (record.executable || record.names.length > 0 || record.conflists.length > 0) {
    replaceFile(recordOf(folder), `${JSON.stringify(record, undefined, 2)}\n`, 0o644)
  } else removeIfThere(recordOf(folder))
}

/** One installation at a time: node agents and people may call at once. */
export async function locked<T>(folder: string, action: () => T | Promise<T>): Promise<T> {
  const release = await engine.lock(recordOf(folder), { wait: WAIT, stale: STALE })
  try {
    return await action()
  } finally {
    release()
  }
}

/** What tells one copy of the executable from another. */
export function fingerprint(path: string): Record['executable'] {
  const found = statIfThere(path)
  return found && { size: found.size, modified: found.modified }
}
