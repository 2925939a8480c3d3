import { isFileError } from '../../src/engine/engine.ts'

/** Of a function that throws where there is no file, the one that answers with undefined. */
export function orAbsent<R>(look: (path: string) => R): (path: string) => R | undefined {
  return (path) => {
    try {
      return look(path)
    } catch (error) {
      if (isFileError(error, 'ENOENT', 'ENOTDIR')) return undefined
      throw error
    }
  }
}
