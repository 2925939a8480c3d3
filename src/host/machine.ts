/** Facts of the machine, read from /proc and /etc without a process. */
import * as engine from '#engine'
import { bridgeMacOf } from '../core/attachment.ts'
import { isFileError } from '../engine/engine.ts'
import { listIfThere, readIfThere, statIfThere } from './files.ts'
import { bootId } from './index-files.ts'

/** The value of a sysctl, undefined when the kernel has none of that name. Keys with slashes. */
export function readSysctl(key: string): string | undefined {
  return readIfThere(`/proc/sys/${key}`)?.trim()
}

/** @throws FileError `ENOENT` when there is no such sysctl, `EROFS` or `EACCES` where /proc/sys is not for writing */
export function writeSysctl(key: string, value: string): void {
  engine.overwriteFile(`/proc/sys/${key}`, value)
}

/**
 * Keeps the host's own IPv6 routes when it begins to forward: a host that forwards takes router advertisements only
 * from interfaces whose accept_ra is 2 (kernel documentation, ip-sysctl), and would lose its default route with the
 * next that is due. Best effort.
 */
export function keepRouterAdvertisements(): void {
  const folder = '/proc/sys/net/ipv6/conf'
  for (const name of listIfThere(folder)) {
    if (['all', 'default', 'lo'].includes(name) || name.startsWith('veth')) continue
    try {
      if (readIfThere(`${folder}/${name}/accept_ra`)?.trim() === '1')
        writeSysctl(`net/ipv6/conf/${name}/accept_ra`, '2')
    } catch (error) {
      if (!isFileError(error)) throw error
    }
  }
}

/** Is there a link of this name in the plugin's own namespace? Costs one system call, whatever their number. */
export function hasLink(name: string): boolean {
  return statIfThere(`/proc/sys/net/ipv4/conf/${name}`) !== undefined
}

/**
 * The ifalias of a link; undefined when it has none, when there is no such link in /sys, or when that is missing or
 * another namespace's. Needs no process.
 */
export function readAlias(name: string): string | undefined {
  return readQuietly(`/sys/class/net/${name}/ifalias`) || undefined
}

const FORWARDING = '3' // BR_STATE_FORWARDING of linux/if_bridge.h

/**
 * Does this link of the host, a port of a bridge perhaps, let frames pass? undefined when there is no such link in
 * /sys, which may be missing, or another namespace's. A hundredth of what it costs to ask ip.
 */
export function readPort(name: string): 'forwards' | 'waits' | undefined {
  const folder = `/sys/class/net/${name}`
  const state = readQuietly(`${folder}/brport/state`)
  if (state !== undefined && state !== FORWARDING) return 'waits'
  const operstate = readQuietly(`${folder}/operstate`)
  if (operstate === undefined) return undefined
  return operstate === 'up' || operstate === 'unknown' ? 'forwards' : 'waits'
}

/** A link that goes away makes reading fail, whichever way. */
function readQuietly(path: string): string | undefined {
  try {
    return readIfThere(path)?.trim()
  } catch (error) {
    if (isFileError(error)) return undefined
    throw error
  }
}

/** When the machine was booted, in milliseconds since 1970, by today's clock (proc(5), btime of /proc/stat). */
export function bootTime(): number {
  return Number(/^btime (\d+)$/m.exec(readIfThere('/proc/stat') ?? '')?.[1] ?? 0) * 1000
}

/** NAT in the `inet` family came with Linux 5.2. */
export function hasInetNat(release: string = readSysctl('kernel/osrelease') ?? ''): boolean {
  const [major = 0, minor = 0] = release.split('.').map((part) => Number.parseInt(part, 10))
  return major > 5 || (major === 5 && minor >= 2)
}

/** The hardware address for a bridge that is yet to be made. */
export function bridgeMac(name: string): string {
  return bridgeMacOf(machineId(), name)
}

function machineId(): string {
  try {
    return readIfThere('/etc/machine-id')?.trim() || bootId()
  } catch (error) {
    if (isFileError(error)) return bootId()
    throw error
  }
}
