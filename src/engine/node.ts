/** The engine on Node.js: node:fs for files, execa for programs, proper-lockfile for the lock. */
import { startupSnapshot } from 'node:v8'
import { type Engine, isFileError } from './engine.ts'
import { attempt, readAll, writeAll } from './node/files.ts'
import { loadExeca } from './node/lazy.ts'

export {
  appendFile,
  canWrite,
  closeFile,
  copyFile,
  createFile,
  listDirectory,
  makeDirectory,
  makeHardLink,
  makeLink,
  openFile,
  overwriteFile,
  readFile,
  readIfThere,
  readLink,
  removeDirectory,
  removeFile,
  rename,
  stat,
  statIfThere,
} from './node/files.ts'
export { lock } from './node/lock.ts'
export { spawn } from './node/spawn.ts'

type Conforms<T extends Engine> = T
/** Does not compile when something of the interface is missing here. */
export type NodeEngine = Conforms<typeof import('./node.ts')>

export function describeEngine(): string {
  return `node ${process.versions.node}`
}

export function commandLine(): readonly string[] {
  return process.argv.slice(1)
}

export function readEnv(name: string): string | undefined {
  return process.env[name]
}

export function environment(): Readonly<Record<string, string>> {
  return { ...process.env } as Record<string, string>
}

export function processId(): number {
  return process.pid
}

export function userId(): number {
  return process.geteuid?.() ?? 0
}

export function exit(status: number): never {
  process.exit(status)
}

/**
 * The executable holds a snapshot of the heap with all parts and execa loaded (nodejs.org/api/v8.html, "Startup Snapshot
 * API"). Not proper-lockfile, which listens for signals from its first line on: no snapshot can hold that.
 */
export function start(main: () => Promise<number>, parts: () => Promise<unknown>): void {
  const run = (): void => void main().then(exit)
  if (!startupSnapshot.isBuildingSnapshot()) run()
  else {
    loadExeca()
    void parts()
    startupSnapshot.setDeserializeMainFunction(run)
  }
}

export function now(): number {
  return Date.now()
}

export function monotonic(): number {
  return performance.now()
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}

export function readStdin(limit: number): string {
  return readAll(0, 'stdin', limit)
}

export function writeStdout(text: string): boolean {
  try {
    attempt('write', 'stdout', () => writeAll(1, text))
    return true
  } catch (error) {
    if (!isFileError(error, 'EPIPE', 'EBADF')) throw error
    return false
  }
}

export function writeStderr(text: string): void {
  try {
    writeAll(2, text)
  } catch {
    // a lost log line is no reason to fail
  }
}
