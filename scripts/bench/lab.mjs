/** A lab for one contender: a network and mount namespace of its own, with a runner inside that measures. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const STORE = '/var/lib/cni/networks'
const FOLDER = '/run/bench'

/**
 * Nothing of it is seen outside: /run and the store are tmpfs. It ends when its stdin does, so also when this process
 * is killed.
 */
const INSIDE = `set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/over/upper /run/over/work
mount -t overlay -o lowerdir=/var/lib,upperdir=/run/over/upper,workdir=/run/over/work overlay /var/lib
mkdir -p /var/lib/cni
mount -t tmpfs tmpfs /var/lib/cni
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns ${FOLDER}
mount -t sysfs sysfs /sys || true
ip link set lo up
exec perl "$0" ${FOLDER}`

export function openLab(contender) {
  const child = spawn(
    'unshare',
    ['-n', '-m', '--propagation', 'private', 'sh', '-c', INSIDE, join(here, 'runner.pl')],
    {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' },
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  )
  let complaint = ''
  child.stderr.on('data', (data) => (complaint += data))
  child.stdin.on('error', () => {}) // told by the answer that does not come
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const inside = (path) => `/proc/${child.pid}/root${path}`

  async function ask(mode, jobs) {
    const texts = jobs.map(({ argv, env = {}, stdin = '' }) =>
      [stdin, ...Object.entries(env).map((pair) => pair.join('=')), '', ...argv].join('\x1f'),
    )
    child.stdin.write(`${[mode, ...texts].join('\x1e').replaceAll('\n', '\x1d')}\n`)
    const { value, done } = await lines.next()
    if (done) throw new Error(`${contender.name}: the lab has ended: ${complaint.trim()} (root is needed)`)
    const [wall, cpu, status, memory] = value.split(' ').map(Number)
    if (status !== 0) {
      const said = jobs.map((_, i) => read(`out.${i}`) + read(`err.${i}`)).find((text) => text.trim() !== '')
      throw new Error(`${contender.name}: ${jobs[0].argv.join(' ')}: status ${status}: ${said}`)
    }
    return { wall: wall / 1000, cpu: cpu / 1000, memory }
  }

  const read = (name) => readFileSync(inside(`${FOLDER}/${name}`), 'utf8')

  return {
    contender,
    ask,
    /** What the job of this number has printed. */
    output: (number = 0) => read(`out.${number}`),
    /** Runs a program that is not measured. */
    run: (...argv) => ask('time', [{ argv, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } }]),
    /** Fills the store of a network as a node full of other pods has it, behind the address 10.9.0.1. */
    fill(network, count) {
      const folder = inside(`${STORE}/${network}`)
      mkdirSync(folder, { recursive: true, mode: 0o755 })
      const address = (n) => `10.9.${n >> 8}.${n & 255}`
      for (let n = 2; n < count + 2; n++) writeFileSync(`${folder}/${address(n)}`, `other-${n}\r\neth0`)
      if (count > 0) writeFileSync(`${folder}/last_reserved_ip.0`, address(count + 1))
    },
    close: () => {
      child.stdin.end()
      return new Promise((resolve) => {
        if (child.exitCode !== null) resolve()
        else child.once('exit', resolve)
      })
    },
  }
}
