/** `pontoon uninstall`: goes by what `install` noted. */
import * as engine from '#engine'
import { readIfThere, removeIfThere, statIfThere } from '../host/files.ts'
import { EXECUTABLE, putBack, removeDrafts } from './install/files.ts'
import { fingerprint, locked, type Record, readRecord, writeRecord } from './install/record.ts'
import { absolute, giveBack } from './install.ts'
import { print } from './output.ts'

export type UninstallFlags = {
  readonly dir: string
}

export async function run(flags: UninstallFlags): Promise<number> {
  const folder = absolute(flags.dir)
  if (!statIfThere(folder)) return nothing(folder)
  return await locked(folder, () => {
    const record = readRecord(folder)
    if (!record.executable && record.names.length === 0 && record.conflists.length === 0) return nothing(folder)
    // First what leads to it, or a runtime would meet a name without a program.
    for (const conflist of record.conflists) removeConflist(conflist)
    for (const name of record.names) giveBack(folder, name)
    if (record.executable) removeExecutable(`${folder}/${EXECUTABLE}`, record.executable)
    writeRecord(folder, { names: [], conflists: [] })
    return 0
  })
}

function nothing(folder: string): number {
  print(`${folder}: pontoon install made nothing here`)
  return 0
}

function removeConflist({ path, content }: Record['conflists'][number]): void {
  removeDrafts(path)
  const now = readIfThere(path)
  if (now !== undefined && now !== content) print(`${path}: somebody changed it since: left as it is`)
  else if (putBack(path)) print(`${path}: as it was before`)
  else print(`${path}: ${removeIfThere(path) ? 'removed' : 'was gone'}`)
}

function removeExecutable(path: string, installed: NonNullable<Record['executable']>): void {
  removeDrafts(path)
  const now = fingerprint(path)
  if (now && (now.size !== installed.size || now.modified !== installed.modified)) {
    print(`${path}: somebody changed it since: left as it is`)
  } else if (now) {
    engine.removeFile(path)
    print(`${path}: removed`)
  } else print(`${path}: was gone`)
}
