/** From the numbers that quickjs-ng answers with to the names that errors are told by. */
import { FileError } from '../engine.ts'

/** As on x86-64 and arm64; the numbers differ on older architectures, which are not built for. */
const names: Readonly<Record<number, string>> = {
  1: 'EPERM',
  2: 'ENOENT',
  4: 'EINTR',
  5: 'EIO',
  6: 'ENXIO',
  7: 'E2BIG',
  9: 'EBADF',
  11: 'EAGAIN',
  12: 'ENOMEM',
  13: 'EACCES',
  16: 'EBUSY',
  17: 'EEXIST',
  18: 'EXDEV',
  19: 'ENODEV',
  20: 'ENOTDIR',
  21: 'EISDIR',
  22: 'EINVAL',
  23: 'ENFILE',
  24: 'EMFILE',
  25: 'ENOTTY',
  26: 'ETXTBSY',
  27: 'EFBIG',
  28: 'ENOSPC',
  29: 'ESPIPE',
  30: 'EROFS',
  31: 'EMLINK',
  32: 'EPIPE',
  34: 'ERANGE',
  36: 'ENAMETOOLONG',
  37: 'ENOLCK',
  38: 'ENOSYS',
  39: 'ENOTEMPTY',
  40: 'ELOOP',
  61: 'ENODATA',
  71: 'EPROTO',
  75: 'EOVERFLOW',
  95: 'EOPNOTSUPP',
  99: 'EADDRNOTAVAIL',
  110: 'ETIMEDOUT',
  116: 'ESTALE',
  122: 'EDQUOT',
}

/** The name of an errno, given with either sign. */
export function errnoName(errno: number): string {
  return names[Math.abs(errno)] ?? `errno ${Math.abs(errno)}`
}

/** Passes a result on, unless it says that the operation failed. */
export function checked(result: number, operation: string, path: string): number {
  if (result < 0) throw new FileError(errnoName(result), operation, path)
  return result
}

/** C ends a string at its first NUL: what follows would be lost, and another file meant. */
export function plain(text: string): string {
  if (text.includes('\0')) throw new FileError('EINVAL', 'use', text)
  return text
}
