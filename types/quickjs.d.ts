/** The two modules of quickjs-ng, as far as they are used here. Numbers below zero are `-errno`. */

declare module 'qjs:os' {
  export const O_RDONLY: number
  export const O_WRONLY: number
  export const O_RDWR: number
  export const O_CREAT: number
  export const O_EXCL: number
  export const O_APPEND: number
  export const O_TRUNC: number
  export const S_IFMT: number
  export const S_IFREG: number
  export const S_IFDIR: number
  export const S_IFLNK: number
  export const SIGPIPE: number
  export const WNOHANG: number

  export interface Stat {
    readonly dev: number
    readonly ino: number
    readonly mode: number
    readonly uid: number
    readonly size: number
    /** Whole milliseconds since 1970. */
    readonly mtime: number
  }

  export function open(path: string, flags: number, mode?: number): number
  export function close(descriptor: number): number
  export function read(descriptor: number, buffer: ArrayBuffer, offset: number, length: number): number
  export function write(descriptor: number, buffer: ArrayBuffer, offset: number, length: number): number
  export function rename(from: string, to: string): number
  /** remove(3): unlink, or rmdir for a directory. */
  export function remove(path: string): number
  export function mkdir(path: string, mode: number): number
  /** The names with `.` and `..`, and the errno: positive here, as in the others that answer with a pair. */
  export function readdir(path: string): [names: string[], errno: number]
  export function stat(path: string): [stat: Stat | null, errno: number]
  export function symlink(target: string, path: string): number
  export function readlink(path: string): [target: string, errno: number]
  export function utimes(path: string, atime: number, mtime: number): number
  export function getpid(): number
  export function pipe(): [read: number, write: number] | null
  /** The process ID (0: not ended yet) and the wait status. */
  export function waitpid(pid: number, options: number): [pid: number, status: number]
  export function kill(pid: number, signal: number): number
  /** One handler per descriptor and direction; null removes it. */
  export function setReadHandler(descriptor: number, handler: (() => void) | null): void
  export function setWriteHandler(descriptor: number, handler: (() => void) | null): void
  /** null is the default action, undefined ignores the signal. */
  export function signal(signal: number, handler: (() => void) | null | undefined): void
  export function setTimeout(callback: () => void, milliseconds: number): number
  export function clearTimeout(timer: number): void
  /** Blocks the whole process. */
  export function sleep(milliseconds: number): void
  /** Microseconds on a clock that is never set. */
  export function now(): number
}

declare module 'qjs:std' {
  export function exit(status: number): never
  export function getenv(name: string): string | undefined
  export function getenviron(): Record<string, string>
}

/** argv of the process. */
declare const scriptArgs: readonly string[]

/** Of scripts/build/native.c. */
declare const native: {
  /** The process ID, or `-errno`. */
  spawn(words: readonly string[], environment: readonly string[], stdin: number, stdout: number, stderr: number): number
  /** The bytes as text; undefined when they are not all ASCII. */
  text(buffer: ArrayBuffer, offset: number, length: number): string | undefined
  /** The text as bytes; undefined when it is not all ASCII. */
  bytes(text: string): Uint8Array<ArrayBuffer> | undefined
  /** What stat(2), or lstat(2), finds, `modified` in whole milliseconds since 1970; or `-errno`. */
  stat(
    path: string,
    follow: boolean,
  ): readonly [mode: number, device: number, inode: number, size: number, modified: number] | number
  /**
   * The file's text; its bytes when they are not all ASCII; or `-errno`.
   * @param limit 0: to its end; else it is not waited for, and more bytes than these are `-EFBIG`
   */
  read(path: string, limit: number): string | ArrayBuffer | number
  /** Opens, writes and closes a file: 0, or `-errno`. undefined, and nothing done, when the text is not all ASCII. */
  write(path: string, flags: number, mode: number, text: string): number | undefined
  /** Gives a file another name: 0, or `-errno`. */
  link(path: string, name: string): number
}

/** Of scripts/build/main.c, while it makes the start image: takes the function that each process begins with. */
declare const keepStart: ((start: () => void) => void) | undefined
