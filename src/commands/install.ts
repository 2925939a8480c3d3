/** `pontoon install`: says all that is wrong with the order first, then does it, step by step, each told. */
import * as engine from '#engine'
import { CODE, Fault } from '../core/fault.ts'
import { readIfThere, statIfThere } from '../host/files.ts'
import { tellFailure, warn } from './failure.ts'
import { type Conflist, planConflist, sortedBefore } from './install/conflist.ts'
import {
  backupOf,
  EXECUTABLE,
  isOurs,
  keep,
  placeExecutable,
  placeName,
  placeText,
  removeName,
} from './install/files.ts'
import { fingerprint, locked, type Record, readRecord, writeRecord } from './install/record.ts'
import { verify } from './install/verify.ts'
import { print } from './output.ts'

export type InstallFlags = {
  readonly dir: string
  readonly as?: readonly ('bridge' | 'host-local')[]
  readonly conflist?: string
  readonly from?: string
  readonly verify: boolean
  /** Seconds. */
  readonly every?: number
  readonly force?: boolean
  readonly undo?: boolean
}

export async function run(flags: InstallFlags): Promise<number> {
  const folder = absolute(flags.dir)
  if (flags.from !== undefined && flags.conflist === undefined) {
    throw new Fault(CODE.invalidConfig, '--from needs --conflist', 'it says where the network is to be written')
  }
  if (flags.undo && !statIfThere(folder)) throw new Fault(CODE.io, `--dir ${folder}`, 'there is no such folder')
  if (flags.undo) return await locked(folder, () => undo(folder, flags.as))
  const { as: names = [], conflist: file, from, force = false } = flags
  const conflist = file === undefined ? undefined : planConflist({ file, from, force, folder })
  engine.makeDirectory(folder)
  const isReady = await locked(folder, async () => {
    install(folder, names)
    return conflist === undefined || (await installConflist(folder, conflist, flags.verify))
  })
  if (flags.every !== undefined) return await keepInstalled(folder, names, flags.every)
  return isReady ? 0 : 1
}

/** Puts back whatever is taken away or written over, until it is ended. The network's file is its administrator's. */
async function keepInstalled(folder: string, names: readonly string[], seconds: number): Promise<never> {
  for (;;) {
    await engine.sleep(seconds * 1000)
    try {
      if (!isInstalled(folder, names)) await locked(folder, () => install(folder, names))
    } catch (error) {
      tellFailure(error) // a full disk, say: it may be better next time
    }
  }
}

function isInstalled(folder: string, names: readonly string[]): boolean {
  const now = fingerprint(`${folder}/${EXECUTABLE}`)
  const { executable } = readRecord(folder)
  const isSame = now?.size === executable?.size && now?.modified === executable?.modified
  return now !== undefined && isSame && names.every((name) => isOurs(`${folder}/${name}`))
}

export function absolute(folder: string): string {
  if (!folder.startsWith('/')) throw new Fault(CODE.invalidConfig, `--dir ${folder}`, 'the path must be absolute')
  return folder.replace(/\/+$/, '') || '/'
}

function install(folder: string, names: readonly string[]): void {
  const path = `${folder}/${EXECUTABLE}`
  const record = readRecord(folder)
  print(placeExecutable(path) ? `${path}: installed` : `${path}: is this executable`)
  // Noted before they are made: an installation that is killed is undone all the same.
  writeRecord(folder, withEntries(record, { executable: fingerprint(path), names }))
  for (const name of names) {
    const did = placeName(folder, name)
    const backup = did === 'made, with a backup' ? `, what was there is kept as ${backupOf(name)}` : ''
    print(`${folder}/${name}: ${did === 'there' ? 'is' : 'is now'} a link to ${EXECUTABLE}${backup}`)
  }
}

function withEntries(record: Record, more: { executable?: Record['executable']; names?: readonly string[] }): Record {
  const { executable = record.executable, names = [] } = more
  return { ...record, ...(executable && { executable }), names: [...new Set([...record.names, ...names])] }
}

/** @returns whether the network is fit for use */
async function installConflist(folder: string, conflist: Conflist, isVerified: boolean): Promise<boolean> {
  const { path, content, name, plugins, isThere, isTemplate } = conflist
  const findings = isVerified ? await verify(folder, name, plugins) : []
  const invalid = findings.find((finding) => finding.isInvalid)
  if (invalid) throw new Fault(CODE.invalidConfig, `${path} is not written`, `${invalid.plugin}: ${invalid.problem}`)
  if (!isThere) {
    engine.makeDirectory(path.slice(0, path.lastIndexOf('/')))
    const record = readRecord(folder)
    const others = record.conflists.filter((one) => one.path !== path)
    const isOwn = record.conflists.some((one) => one.path === path && one.content === readIfThere(path))
    const isBackedUp = !isOwn && keep(path)
    writeRecord(folder, { ...record, conflists: [...others, { path, content }] })
    placeText(path, content)
    print(`${path}: written${isBackedUp ? `, what was there is kept as ${backupOf(path)}` : ''}`)
  } else print(`${path}: is there already`)
  if (isTemplate) return true
  const before = sortedBefore(path)
  if (before.length > 0) {
    warn(`runtimes take the first file by name: ${before.join(', ')} comes before ${path}, so that is the network used`)
  } else print(`${path}: runtimes take the first file by name, which is this one`)
  for (const { plugin, problem } of findings) {
    if (problem === undefined) print(`network ${name}: ${plugin} is ready`)
    else warn(`network ${name}: ${plugin}: ${problem}`)
  }
  return findings.every(({ problem }) => problem === undefined)
}

/** Gives names back. The executable and the networks stay: running pods may be of a network that needs them. */
function undo(folder: string, only: readonly string[] | undefined): number {
  const record = readRecord(folder)
  const names = only ?? record.names
  if (names.length === 0) print(`${folder}: no name was taken, nothing to undo`)
  for (const name of names) giveBack(folder, name)
  writeRecord(folder, { ...record, names: record.names.filter((name) => !names.includes(name)) })
  return 0
}

export function giveBack(folder: string, name: string): void {
  const isDone = removeName(folder, name)
  print(`${folder}/${name}: ${isDone ? 'as it was before' : 'somebody changed it since: left as it is'}`)
}
