/**
 * What Pontoon needs of the JavaScript engine it runs on, and nothing else.
 *
 * Implemented once per engine (`node.ts`, `quickjs.ts`) and chosen by the bundler through `#engine`; one contract
 * test-suite holds both to this text. Paths are absolute. Text is UTF-8; bytes that are not are replaced, never an
 * error, since the store may hold anything. File functions throw `FileError` and nothing else.
 */

/** Why a file operation failed: the errno's name (`ENOENT`, `EEXIST`, `EROFS`, …), the operation, and the path. */
export class FileError extends Error {
  readonly code: string
  readonly operation: string
  readonly path: string
  constructor(code: string, operation: string, path: string) {
    // Most of them are caught right away, for an answer: to write down where they come from costs more than the rest.
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(`${operation} ${path}: ${code}`)
    Error.stackTraceLimit = limit
    this.name = 'FileError'
    this.code = code
    this.operation = operation
    this.path = path
  }
}

/** True for a `FileError` of one of these codes. */
export function isFileError(error: unknown, ...codes: readonly string[]): error is FileError {
  return error instanceof FileError && (codes.length === 0 || codes.includes(error.code))
}

/** Bytes that `readIfThere` reads at most. */
export const LARGEST = 1 << 26

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'link' | 'other'
  readonly device: number
  readonly inode: number
  readonly size: number
  /** Milliseconds since 1970. */
  readonly modified: number
}

export interface SpawnOptions {
  /** `argv[0]` is an absolute path: there is no search. */
  readonly argv: readonly [string, ...string[]]
  /** The child's whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  /** Milliseconds from the start; then the child is killed (SIGKILL) and `exit` says so. */
  readonly deadline: number
  /** Called with each piece of stdout as it comes. Without it, stdout is collected into `Exit.stdout`. */
  readonly onStdout?: (text: string) => void
  /** Called when `stderrSoFar` has become longer. */
  readonly onStderr?: () => void
}

export interface Exit {
  /** Exit status; 128 + signal number when a signal ended it, as a shell says it. */
  readonly status: number
  readonly stdout: string
  readonly stderr: string
  /** True when the deadline ended it. */
  readonly timedOut: boolean
}

/** A running child. Its stdin, stdout and stderr are pipes, served while the event loop runs. */
export interface Child {
  readonly pid: number
  /**
   * Queues text for the child's stdin. Never blocks; what a child that has gone does not read is dropped. The first
   * 4096 bytes are handed over before it returns: they reach the child though this process ends at once.
   */
  write(text: string): void
  /** Closes the child's stdin after what is queued. */
  end(): void
  /** What the child has said on stderr until now. */
  stderrSoFar(): string
  /** Kills it (SIGKILL); `exit` still resolves. */
  kill(): void
  /** Resolves when the child has ended, and all it said was read. Never rejects. */
  readonly exit: Promise<Exit>
}

export interface LockOptions {
  /** Milliseconds to wait for the lock; then the promise is rejected with `LockTimeout`. */
  readonly wait: number
  /** Milliseconds after which a holder that shows no sign of life is taken for dead. At least 2000. */
  readonly stale: number
}

/** The lock was not to be had in time. */
export class LockTimeout extends Error {
  constructor(path: string) {
    super(`lock ${path}: still held by another process`)
    this.name = 'LockTimeout'
  }
}

export interface Engine {
  /** `quickjs-ng 0.17.0`, `node 24.22.3`. */
  describeEngine(): string
  /** The words of the command line; the first is the name that the executable was called by. */
  commandLine(): readonly string[]
  /** The value of an environment variable, undefined when it is not set. */
  readEnv(name: string): string | undefined
  environment(): Readonly<Record<string, string>>
  processId(): number
  userId(): number
  /** Ends the process at once. */
  exit(status: number): never
  /**
   * Runs the program; what `main` answers is the exit status. An engine that keeps itself in the executable, loaded and
   * ready, calls `parts` when the executable is built, to load what most calls need, and `main` in each process.
   */
  start(main: () => Promise<number>, parts: () => Promise<unknown>): void
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds on a clock that is never set. */
  monotonic(): number
  sleep(milliseconds: number): Promise<void>

  /**
   * All of stdin, as text.
   * @throws FileError code `EFBIG` as soon as more than `limit` bytes came, `EIO` or another errno when it can't be read
   */
  readStdin(limit: number): string
  /**
   * Writes all of it, over short writes and EAGAIN.
   * @returns false when the reader has gone, which is no error: who has more to tell need not
   */
  writeStdout(text: string): boolean
  writeStderr(text: string): void

  readFile(path: string): string
  /**
   * undefined where there is no such file (`ENOENT`, `ENOTDIR`): an answer of every day, and errors cost. Never waits: a
   * pipe that has nothing to say is empty, or `EAGAIN`. What is larger than `LARGEST`, or has no end, is `EFBIG`.
   */
  readIfThere(path: string): string | undefined
  /** Creates a file that must not exist (`EEXIST`), mode `mode`, with this content. */
  createFile(path: string, content: string, mode: number): void
  /** Overwrites a file that exists (a sysctl, say): `ENOENT` when there is none. Nothing is created. */
  overwriteFile(path: string, content: string): void
  /** Appends to a file in one write, so that lines of many processes don't mix. Made with this mode when it is not there. */
  appendFile(path: string, content: string, mode: number): void
  /** Copies any bytes into a file that must not exist (`EEXIST`), mode `mode`. A failure leaves no file. */
  copyFile(from: string, to: string, mode: number): void
  /** Makes a symbolic link, which need not lead anywhere; there must be nothing of its name (`EEXIST`). */
  makeLink(target: string, path: string): void
  /** Gives a file another name; there must be nothing of that name (`EEXIST`). Not every file system can: `EPERM`. */
  makeHardLink(from: string, path: string): void
  rename(from: string, to: string): void
  /** Removes a file (not a directory: `EISDIR` or `EPERM`). */
  removeFile(path: string): void
  /** Makes a directory and its missing parents, mode 0755; one that exists is no error. */
  makeDirectory(path: string): void
  /** Removes an empty directory. */
  removeDirectory(path: string): void
  /** The names in a directory, without `.` and `..`, in no order. */
  listDirectory(path: string): readonly string[]
  /** Follows symbolic links. */
  stat(path: string): FileStat
  /** undefined where there is nothing (`ENOENT`, `ENOTDIR`). */
  statIfThere(path: string): FileStat | undefined
  /** The target of a symbolic link. */
  readLink(path: string): string
  /** May this process write into this directory or file? Asks the kernel (access(2)), writes nothing. */
  canWrite(path: string): boolean
  /** Opens a file for reading and keeps it open; `/proc/self/fd/N` then names it whatever happens to the path. */
  openFile(path: string): number
  closeFile(descriptor: number): void

  /**
   * Starts a program. stdin, stdout and stderr are pipes; no other descriptor is passed on; current directory `/`.
   * @throws FileError when it can't be started and the engine knows it; else `exit` has status 127
   */
  spawn(options: SpawnOptions): Child

  /**
   * Takes the lock that belongs to `path` (the directory `<path>.lock`, the protocol of proper-lockfile), and
   * resolves to the function that gives it back. `path` itself need not exist, its parent must.
   * @throws LockTimeout, FileError
   */
  lock(path: string, options: LockOptions): Promise<() => void>
}
