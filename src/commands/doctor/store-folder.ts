/** Can an address be reserved: is the store's folder one, may it be written, is there room? Looks only. */
import * as engine from '#engine'
import { statIfThere } from '../../host/files.ts'
import { runTool } from '../../host/inspect.ts'
import { shellWord } from '../ops.ts'
import type { StoreProblem } from './facts.ts'

/** Of the folder, or of the one that it will be made in. */
export async function findStoreProblem(folder: string): Promise<StoreProblem | undefined> {
  for (let path = folder; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) {
    const found = statIfThere(path)
    if (!found) continue
    const word = shellWord(path)
    if (found.kind !== 'directory')
      return { what: `${path} is not a folder`, fix: `mv ${word} ${shellWord(`${path}.old`)}` }
    if (!engine.canWrite(path)) {
      return {
        what: 'its file system is mounted read-only, or it is protected',
        fix: `findmnt -T ${word}; lsattr -d ${word}`,
      }
    }
    if (await isFull(path))
      return {
        what: 'its file system is full',
        fix: `df -h ${word}; df -i ${word}; du -xah ${word} | sort -h | tail -n 5`,
      }
    return undefined
  }
  return undefined
}

/** No block is left, also for root, or no inode. A file system that has no count of inodes tells a total of 0. */
async function isFull(path: string): Promise<boolean> {
  const exit = await runTool('stat', '-f', '-c', '%f %c %d', path)
  const [blocks = 1, inodes = 0, freeInodes = 1] = exit?.status === 0 ? exit.stdout.trim().split(' ').map(Number) : []
  return blocks === 0 || (inodes > 0 && freeInodes === 0)
}
