/** The engine on quickjs-ng 0.17: two C modules, `qjs:std` and `qjs:os`, thin over the system calls. */
import * as os from 'qjs:os'
import * as std from 'qjs:std'
import type { Engine } from './engine.ts'
import { checked, errnoName } from './quickjs/errno.ts'
import { readAll, writeAll } from './quickjs/files.ts'
import { readyBuiltIns } from './quickjs/ready.ts'
import { encode } from './quickjs/utf8.ts'

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
} from './quickjs/files.ts'
export { lock } from './quickjs/lock.ts'
export { spawn } from './quickjs/spawn.ts'

type Conforms<T extends Engine> = T
/** Does not compile when something of the interface is missing here. */
export type QuickjsEngine = Conforms<typeof import('./quickjs.ts')>

catchSigpipe()

/**
 * A reader that has gone must be an error of the write, not our end. A function rather than `undefined`, since an
 * ignored signal stays ignored in the programs that we start, and a caught one does not.
 */
function catchSigpipe(): void {
  os.signal(os.SIGPIPE, () => {})
}

export function describeEngine(): string {
  return `quickjs-ng ${typeof QUICKJS_VERSION === 'string' ? QUICKJS_VERSION : '(unknown version)'}`
}

export function commandLine(): readonly string[] {
  return scriptArgs
}

export function readEnv(name: string): string | undefined {
  return std.getenv(name)
}

export function environment(): Readonly<Record<string, string>> {
  return std.getenviron()
}

export function processId(): number {
  return os.getpid()
}

export function userId(): number {
  return os.stat('/proc/self')[0]?.uid ?? 0
}

export function exit(status: number): never {
  std.exit(status)
}

export function start(main: () => Promise<number>, parts: () => Promise<unknown>): void {
  const run = (): void => {
    catchSigpipe() // what a process asks of the kernel is not in the image
    void main().then(exit)
  }
  const keep = typeof keepStart === 'undefined' ? undefined : keepStart
  if (!keep) run()
  else {
    readyBuiltIns()
    void parts().then(() => keep(run))
  }
}

export function now(): number {
  return Date.now()
}

export function monotonic(): number {
  return os.now() / 1000
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    os.setTimeout(resolve, Math.ceil(milliseconds))
  })
}

export function readStdin(limit: number): string {
  return readAll(0, 'stdin', limit)
}

export function writeStdout(text: string): boolean {
  const result = writeAll(1, encode(text))
  if (result < 0 && !['EPIPE', 'EBADF'].includes(errnoName(result))) checked(result, 'write', 'stdout')
  return result >= 0
}

export function writeStderr(text: string): void {
  writeAll(2, encode(text)) // a lost log line is no reason to fail
}
