/** Child processes, by execa. Its streams are served here, so that a dialog is possible and the deadline is kept. */
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import { type Child, type Exit, FileError, type SpawnOptions } from '../engine.ts'
import { loadExeca } from './lazy.ts'

const KILLED = 128 + constants.signals.SIGKILL
/** How long a killed child may take to end; one that waits in the kernel can't be killed at once. */
const KILL_GRACE = 1000
/** After the deadline, time to read what was said before it: this process may have been the one that was late. */
const DRAIN = 100

export function spawn(options: SpawnOptions): Child {
  const [file, ...args] = options.argv
  for (const word of [...options.argv, ...Object.entries(options.env).flat()]) {
    if (word.includes('\0')) throw new FileError('EINVAL', 'start', word)
  }
  const child = loadExeca().execa(file, args, {
    env: options.env,
    extendEnv: false,
    cwd: '/',
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    encoding: 'buffer',
    buffer: false,
    reject: false,
    cleanup: false,
  })

  let collected = ''
  let complaints = ''
  const onStderr = (text: string): void => {
    complaints += text
    options.onStderr?.()
  }
  const flushes = [
    readText(child.stdout, options.onStdout ?? ((text) => (collected += text))),
    readText(child.stderr, onStderr),
  ]
  // What a child that has gone does not read is dropped.
  child.stdin.on('error', () => {})

  let timedOut = false
  let ended: { status: number } | undefined
  child.nodeChildProcess.once('exit', (code, signal) => {
    ended = { status: shellStatus(code, signal) }
  })

  const exit = new Promise<Exit>((resolve) => {
    const finish = (status: number, reason = "not found, or it can't be run"): void => {
      clearTimeout(timer)
      for (const flush of flushes) flush()
      const stderr = status === 127 && complaints === '' ? `${file}: ${reason}` : complaints
      // It may have ended by itself as it was to be killed.
      resolve({ status, stdout: collected, stderr, timedOut: timedOut && status === KILLED })
    }
    const onDeadline = (): void => {
      if (!ended) {
        timedOut = true
        child.kill('SIGKILL')
      }
      timer = setTimeout(stopListening, DRAIN)
    }
    /** Whoever else holds the pipes, a grandchild perhaps, is not waited for. */
    const stopListening = (): void => {
      child.stdout.destroy()
      child.stderr.destroy()
      timer = setTimeout(() => finish(ended?.status ?? KILLED), KILL_GRACE)
    }
    let timer = setTimeout(onDeadline, Math.max(1, options.deadline))
    // No exit code and no signal: it could not be started.
    child.then(({ exitCode, signal, code }) => {
      finish(ended?.status ?? shellStatus(exitCode ?? null, signal ?? null), code)
    })
  })

  return {
    pid: child.pid ?? 0,
    write(text) {
      if (child.stdin.writable) child.stdin.write(text)
    },
    end() {
      child.stdin.end()
    },
    stderrSoFar: () => complaints,
    kill() {
      child.kill('SIGKILL')
    },
    exit,
  }
}

/** Whole characters only, invalid bytes replaced. Answers with what hands on an unfinished character at the end. */
function readText(stream: Readable, onText: (text: string) => void): () => void {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const emit = (text: string): void => {
    if (text !== '') onText(text)
  }
  stream.on('data', (bytes: Uint8Array) => emit(decoder.decode(bytes, { stream: true })))
  return () => emit(decoder.decode())
}

/** As a shell says it; node:os has the numbers, and is loaded already. */
function shellStatus(code: number | null, signal: NodeJS.Signals | null): number {
  if (code !== null) return code
  return signal === null ? 127 : 128 + (constants.signals[signal] ?? 0)
}
