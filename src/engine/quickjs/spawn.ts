/**
 * Child processes. All three pipes block, so each is touched only when `poll` says that it won't: one read per event,
 * and writes of at most a page, for which a pipe that is writable always has room.
 */
import * as os from 'qjs:os'
import { type Child, type Exit, FileError, type SpawnOptions } from '../engine.ts'
import { checked, errnoName, plain } from './errno.ts'
import { createDecoder, encode } from './utf8.ts'

const PAGE = 4096
const SIGKILL = 9
const KILLED = 128 + SIGKILL
/** How long a killed child may take to end; one that waits in the kernel can't be killed at once. */
const KILL_GRACE = 1000
/** After the deadline, time to read what was said before it: this process may have been the one that was late. */
const DRAIN = 100

const buffer = new ArrayBuffer(65536)

export function spawn(options: SpawnOptions): Child {
  const { pid, stdin, stdout, stderr } = start(options)
  let exited: number | undefined
  let timedOut = false
  let resolve: (exit: Exit) => void
  const exit = new Promise<Exit>((done) => {
    resolve = done
  })

  const input = writer(stdin)
  let collected = ''
  const output = reader(stdout, options.onStdout ?? ((text) => (collected += text)), settle)
  let complaints = ''
  const onStderr = (text: string): void => {
    complaints += text
    options.onStderr?.()
  }
  const errors = reader(stderr, onStderr, settle)

  let timer = os.setTimeout(onDeadline, Math.max(1, Math.ceil(options.deadline)))
  let poll: number | undefined

  function kill(): void {
    if (!hasExited()) os.kill(pid, SIGKILL)
  }

  function hasExited(): boolean {
    if (exited !== undefined) return true
    const [which, status] = os.waitpid(pid, os.WNOHANG)
    if (which !== 0) exited = which === pid ? status : 0
    return exited !== undefined
  }

  function onDeadline(): void {
    if (!hasExited()) {
      timedOut = true
      os.kill(pid, SIGKILL)
    }
    timer = os.setTimeout(stopListening, DRAIN)
  }

  /** Whoever else holds the pipes, a grandchild perhaps, is not waited for. */
  function stopListening(): void {
    output.close()
    errors.close()
    timer = os.setTimeout(finish, KILL_GRACE)
    settle()
  }

  /** Called when a pipe has ended: the child has ended too, or does so right after, or has only closed them. */
  function settle(): void {
    if (!output.closed || !errors.closed) return
    for (let tries = 0; tries < 8; tries++) {
      if (hasExited()) break
      os.sleep(0)
    }
    pollExit(1)
  }

  function pollExit(delay: number): void {
    if (poll !== undefined) os.clearTimeout(poll)
    if (hasExited()) finish()
    else poll = os.setTimeout(() => pollExit(Math.min(delay * 2, 20)), delay)
  }

  function finish(): void {
    os.clearTimeout(timer)
    if (poll !== undefined) os.clearTimeout(poll)
    input.close()
    const status = shellStatus(exited ?? SIGKILL)
    const stderr =
      status === 127 && complaints === '' ? `${options.argv[0]}: not found, or it can't be run` : complaints
    // It may have ended by itself as it was to be killed.
    resolve({ status, stdout: collected, stderr, timedOut: timedOut && status === KILLED })
  }

  return {
    pid,
    write: input.write,
    end: input.end,
    stderrSoFar: () => complaints,
    kill,
    exit,
  }
}

/** As a shell says it. The argument is the status of wait(2). */
function shellStatus(status: number): number {
  const signal = status & 0x7f
  return signal === 0 ? (status >> 8) & 0xff : 128 + signal
}

function start(options: SpawnOptions): { pid: number; stdin: number; stdout: number; stderr: number } {
  const [file] = options.argv
  for (const word of options.argv) plain(word)
  const pipes: number[] = []
  try {
    const [stdinRead, stdin] = pipe(file, pipes)
    const [stdout, stdoutWrite] = pipe(file, pipes)
    const [stderr, stderrWrite] = pipe(file, pipes)
    const pid = native.spawn(options.argv, environmentOf(options.env), stdinRead, stdoutWrite, stderrWrite)
    checked(pid, 'start', file)
    for (const theirs of [stdinRead, stdoutWrite, stderrWrite]) os.close(theirs)
    return { pid, stdin, stdout, stderr }
  } catch (error) {
    for (const descriptor of pipes) os.close(descriptor)
    throw error
  }
}

/** Most programs get the same environment: its text is kept. */
let kept: { readonly env: SpawnOptions['env']; readonly words: readonly string[] } | undefined

function environmentOf(env: SpawnOptions['env']): readonly string[] {
  if (kept?.env !== env) kept = { env, words: Object.entries(env).map((pair) => plain(pair.join('='))) }
  return kept.words
}

function pipe(file: string, made: number[]): [read: number, write: number] {
  const ends = os.pipe()
  if (!ends) throw new FileError('EMFILE', 'start', file)
  made.push(...ends)
  return ends
}

function reader(descriptor: number, onText: (text: string) => void, onClose: () => void) {
  const decoder = createDecoder()
  const self = {
    closed: false,
    close(): void {
      if (self.closed) return
      self.closed = true
      os.setReadHandler(descriptor, null)
      os.close(descriptor)
      emit(decoder.end())
    },
  }
  const emit = (text: string): void => {
    if (text !== '') onText(text)
  }
  os.setReadHandler(descriptor, () => {
    const count = os.read(descriptor, buffer, 0, buffer.byteLength)
    if (count > 0) return emit(decoder.push(new Uint8Array(buffer, 0, count)))
    if (count < 0 && errnoName(count) === 'EINTR') return
    self.close()
    onClose()
  })
  return self
}

function writer(descriptor: number) {
  const queue: Uint8Array<ArrayBuffer>[] = []
  let closed = false
  let ending = false
  let sent = 0

  const close = (): void => {
    if (closed) return
    closed = true
    queue.length = 0
    os.setWriteHandler(descriptor, null)
    os.close(descriptor)
  }

  const send = (bytes: Uint8Array<ArrayBuffer>): number => {
    const count = os.write(descriptor, bytes.buffer, bytes.byteOffset, Math.min(bytes.length, PAGE))
    if (count >= 0) sent += count
    else if (errnoName(count) !== 'EINTR') close() // EPIPE: the child has gone
    return Math.max(count, 0)
  }

  const onWritable = (): void => {
    const [first] = queue
    if (first) {
      const count = send(first)
      if (closed) return
      if (count === first.length) queue.shift()
      else queue[0] = first.subarray(count)
    }
    if (queue.length > 0) return
    os.setWriteHandler(descriptor, null)
    if (ending) close()
  }

  return {
    write(text: string): void {
      if (closed || ending || text === '') return
      let bytes = encode(text)
      // Every pipe has room for its first page, whether the child reads or not: no need to ask.
      if (queue.length === 0 && sent + bytes.length <= PAGE) bytes = bytes.subarray(send(bytes))
      if (closed || bytes.length === 0) return
      queue.push(bytes)
      if (queue.length === 1) os.setWriteHandler(descriptor, onWritable)
    },
    end(): void {
      ending = true
      if (queue.length === 0) close()
    },
    close,
  }
}
