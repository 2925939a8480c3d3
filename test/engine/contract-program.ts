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
    engine.writeStdout('0123456789abcdef'.repeat(Number(length) / 16))
    engine.writeStderr('spoken')
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
      const release = await engine.lock(file, { wait: 15_000, stale: 5000 })
      const before = Number(engine.readFile(file))
      await engine.sleep(Math.random() * 2)
      engine.overwriteFile(file, String(before + 1))
      release()
    }
  },
  /** Takes the lock, says so, and keeps it for a while. */
  async hold(file = '', milliseconds, wait) {
    const release = await engine.lock(file, { wait: Number(wait), stale: 2000 })
    engine.writeStdout('held\n')
    await engine.sleep(Number(milliseconds))
    release()
    engine.writeStdout('released\n')
  },
}

async function main(): Promise<void> {
  const [, name = '', ...words] = engine.commandLine()
  const operation = operations[name]
  if (!operation) throw new Error(`no such operation: ${name}`)
  await operation(...words)
}

main().then(
  () => engine.exit(0),
  (error: Error) => {
    engine.writeStderr(isFileError(error) ? error.code : `${error.name}: ${error.message}\n${error.stack ?? ''}`)
    engine.exit(1)
  },
)
