/** Who holds the lock of iptables: without it neither iptables nor kube-proxy gets anywhere. */
import * as engine from '#engine'
import { readIfThere, statIfThere } from '../../host/files.ts'
import type { XtablesFact } from './facts.ts'

/** As iptables(8) has it. */
const LOCK = '/run/xtables.lock'

/** Milliseconds: a call of iptables is done by then, but for the largest of rulesets. */
const LONG = 2000
const PAUSE = 100

/** The holder, when it is the same one for all that time. Costs nothing when nobody holds it. */
export async function readXtablesLock(path: string = LOCK): Promise<XtablesFact | undefined> {
  const first = holderNow(path)
  if (first === undefined) return undefined
  const end = engine.monotonic() + LONG
  while (engine.monotonic() < end) {
    await engine.sleep(PAUSE)
    if (holderNow(path) !== first) return undefined
  }
  const command = first > 0 ? (readIfThere(`/proc/${first}/cmdline`) ?? '') : ''
  return { path, pid: first, command: command.split('\0').join(' ').trim() }
}

function holderNow(path: string): number | undefined {
  const lock = statIfThere(path)
  return lock && holderIn(readIfThere('/proc/locks') ?? '', lock)
}

/**
 * Of the lines of /proc/locks, `1: FLOCK  ADVISORY  WRITE 713 00:1a:42 0 EOF`, the holder's; who waits has an arrow in
 * front. Pure.
 */
export function holderIn(text: string, { device, inode }: { device: number; inode: number }): number | undefined {
  for (const line of text.split('\n')) {
    const found = /^\d+: FLOCK\s+\S+\s+\S+\s+(-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /.exec(line)
    if (!found) continue
    const [, pid, major = '', minor = '', number] = found
    const isSame = Number.parseInt(major, 16) === majorOf(device) && Number.parseInt(minor, 16) === minorOf(device)
    if (isSame && Number(number) === inode) return Math.max(0, Number(pid))
  }
  return undefined
}

/** As makedev(3) puts them together; the higher bits are those of very many devices. */
const majorOf = (device: number) => Math.floor(device / 256) % 4096
const minorOf = (device: number) => (device % 256) + (Math.floor(device / 2 ** 20) % 4096) * 256
