/** Which boot a store was looked through in, and what of it was in doubt then. */
import * as engine from '#engine'
import { statIfThere } from './files.ts'
import { readQuietly } from './leases.ts'
import type { LockedStore } from './store-lock.ts'

const BOOT_NOTE = 'pontoon.boot'
const FILE_MODE = 0o600

/** Addresses whose files were younger than the clock, each with its file's time, in milliseconds since 1970. */
export type Doubts = ReadonlyMap<string, number>

/** The boot in which the store was last looked through for what another boot left; undefined when it never was. */
export function readBootNote(folder: string): string | undefined {
  return readQuietly(`${folder}/${BOOT_NOTE}`)?.split('\n')[0]?.trim()
}

export function readDoubts(folder: string): Doubts {
  const [, ...lines] = (readQuietly(`${folder}/${BOOT_NOTE}`) ?? '').trim().split('\n')
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])] as const))
}

export function writeBootNote(store: LockedStore, boot: string, doubts: Doubts = new Map()): void {
  const path = `${store.folder}/${BOOT_NOTE}`
  const text = [boot, ...[...doubts].map(([address, time]) => `${address} ${time}`)].join('\n')
  if (statIfThere(path)) engine.overwriteFile(path, text)
  else engine.createFile(path, text, FILE_MODE)
}

/** For a store that nobody has looked through, as there was nothing in it. */
export function noteBoot(store: LockedStore, boot: string): void {
  if (readBootNote(store.folder) !== boot) writeBootNote(store, boot)
}
