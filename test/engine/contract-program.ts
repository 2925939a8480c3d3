/** The program that is bundled for each engine: one check of the contract, or one operation, by its name. */
import * as engine from '#engine'
import { isFileError } from '../../src/engine/engine.ts'

const operations: Readonly<Record<string, (...words: string[]) => void | Promise<void>>> = {
  async check(name = '', directory = '') {
    const { checks } = await import('./contract.ts')
    const check = checks[name]
    if (!check) throw new Error(`no such check: ${name}`)
    await check(engine, directory)
  },
  async reject() {
    void Promise.reject(new Error('nobody cares'))
    await engine.sleep(1000)
  },
  /** stdin, back to stdout; the code of the error when there is one. */
  echo(limit) {
    engine.writeStdout(engine.readStdin(Number(limit)))
  },
  print(file = '') {
    engine.writeStdout(engine.readFile(file))
  },
  speak(length) {
    const isHeard = engine.writeStdout('0123456789abcdef'.repeat(Number(length) / 16))
    engine.writeStderr(isHeard ? 'spoken' : 'spoken to nobody')
  },
  words() {
    engine.writeStdout(JSON.stringify(engine.commandLine()))
  },
  writable(...paths) {
    engine.writeStdout(JSON.stringify(paths.map(engine.canWrite)))
  },
  /** Creates a file that is larger than what the disk has left. */
  create(file = '', length) {
    engine.createFile(file, 'x'.repeat(Number(length)), 0o644)
  },
  /** Adds one to the number in a file, so often; only a lock makes the sum right. */
  async count(file = '', times) {
    for (let i = 0; i < Number(times); i++) {
      const release = await engine.lock(file, { wait: 120_000, stale: 60_000 })
      const before = Number(engine.readFile(file))
      await engine.sleep(Math.random() * 2)
      engine.overwriteFile(file, String(before + 1))
      release()
    }
  },
  /** Takes the lock, says so, and keeps it for a while. */
  async hold(file = '', milliseconds, wait) {
    const release = await engine.lock(file, { wait: Number(wait), stale: 6000 })
    engine.writeStdout('held\n')
    await engine.sleep(Number(milliseconds))
    release()
    engine.writeStdout('released\n')
  },
  random() {
    engine.writeStdout(String(Math.random()))
  },
  /** Changes what was there before the program ran, over and over, in more memory than is kept without a collection. */
  churn(rounds) {
    engine.writeStdout(JSON.stringify(churn(Number(rounds))))
  },
}

/** Made as the module is loaded: in an executable that keeps itself, not in the process that changes it. */
const before = {
  names: new Map<string, object>([['first', { name: 'first' }]]),
  list: ['b', 'a', 'c'],
  counts: { a: 0 } as Record<string, number>,
  text: 'kept',
  pattern: /(\d+)-(?<word>\w+)/g,
  bytes: new Uint8Array(8),
}
class Cell {
  readonly before = before
  self: Cell | undefined
  readonly payload: string
  constructor(payload: string) {
    this.payload = payload
    this.self = this // so that only a collection frees it
  }
}

function churn(rounds: number): unknown {
  let held: Cell[] = []
  for (let i = 0; i < rounds; i++) {
    const cell = new Cell(before.text + i)
    held.push(cell)
    if (held.length > 1000) held = []
    before.names.set(`name ${i % 100}`, cell)
    if (i % 3 === 0) before.names.delete(`name ${(i + 50) % 100}`)
    before.counts[`key ${i % 500}`] = (before.counts[`key ${i % 500}`] ?? 0) + 1
    if (i % 7 === 0) delete before.counts[`key ${i % 250}`]
    before.list.push(`${before.text}${i % 10}`)
    if (before.list.length > 50) before.list = before.list.sort().slice(0, 3)
    before.bytes[i % 8] = i
    before.text = `${i}-${before.text}`.replace(before.pattern, '$2').slice(0, 20)
  }
  const { names, list, counts, text, bytes } = before
  return { names: names.size, list, counts: Object.keys(counts).length, text, bytes: [...bytes], held: held.length }
}

async function main(): Promise<number> {
  const [, name = '', ...words] = engine.commandLine()
  const operation = operations[name]
  if (!operation) throw new Error(`no such operation: ${name}`)
  await operation(...words)
  return 0
}

async function run(): Promise<number> {
  try {
    return await main()
  } catch (error) {
    const { name: kind, message, stack } = error as Error
    engine.writeStderr(isFileError(error) ? error.code : `${kind}: ${message}\n${stack ?? ''}`)
    return 1
  }
}

engine.start(run, () => import('./contract.ts'))
