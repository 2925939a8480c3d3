/** The executable: environment and stdin in, exactly one JSON document or nothing out. */
import * as engine from '#engine'
import { errorDocument } from './cni/error.ts'
import { parseRequest, spokenVersion } from './cni/request.ts'
import { SUPPORTED_VERSIONS } from './cni/version.ts'
import { COMMIT, VERSION } from './core/build-info.ts'
import { CODE, Fault } from './core/fault.ts'
import { isFileError } from './engine/engine.ts'
import { mark, startTrace } from './host/trace.ts'
import type { Ahead } from './verbs/ahead.ts'
import { isIpam, run } from './verbs/run.ts'

/** Bytes of stdin that are read at most: a hundred times what the largest runtime sends. */
const STDIN_LIMIT = 1 << 20

async function main(): Promise<number> {
  const [called = 'pontoon', ...words] = engine.commandLine()
  const name = called.slice(called.lastIndexOf('/') + 1)
  if (!engine.readEnv('CNI_COMMAND')) return introduce(name, words)
  let stdin = ''
  let ahead: Ahead | undefined
  const begun = engine.monotonic()
  if (engine.readEnv('PONTOON_TRACE') === '1') await startTrace()
  try {
    if (engine.readEnv('CNI_COMMAND') === 'ADD' && !isIpam(name)) {
      ahead = (await import('./verbs/ahead.ts')).startAhead(engine.readEnv('CNI_NETNS') ?? '')
      mark('the processes of ip are started')
    }
    const request = parseRequest(engine.readEnv, () => {
      stdin = readStdin()
      return stdin
    })
    mark('the request is read')
    const answer = await run(request, name, ahead)
    if (answer !== '') engine.writeStdout(`${answer}\n`)
    mark('answered')
    await logIfAsked(stdin, begun)
    return 0
  } catch (error) {
    engine.writeStdout(`${errorDocument(error, spokenVersion(stdin))}\n`)
    if (ahead) await (await import('./verbs/ahead.ts')).dropAhead(ahead)
    await logIfAsked(stdin, begun, error)
    return 1
  }
}

/** What the log takes to be read, only those pay who want it. */
async function logIfAsked(stdin: string, begun: number, error?: unknown): Promise<void> {
  if (!engine.readEnv('PONTOON_LOG') && !stdin.includes('"log"')) return
  const { logCall } = await import('./host/log.ts')
  logCall({ stdin, ms: engine.monotonic() - begun, error })
}

function readStdin(): string {
  try {
    return engine.readStdin(STDIN_LIMIT)
  } catch (error) {
    if (!isFileError(error, 'EFBIG')) throw error
    throw new Fault(CODE.decode, `the network configuration on stdin is larger than ${STDIN_LIMIT} bytes`, 'shorten it')
  }
}

/** Without CNI_COMMAND somebody looks at it: as the reference does, it says on stderr what it is; or does what is asked. */
async function introduce(name: string, words: readonly string[]): Promise<number> {
  if (words.length > 0 && words[0] !== '--version') return (await import('./cli.ts')).runCli(words)
  if (words.length > 0) {
    engine.writeStdout(`pontoon ${VERSION} (${engine.describeEngine()}, commit ${COMMIT})\n`)
    return 0
  }
  engine.writeStderr(`CNI ${name} plugin, pontoon ${VERSION}\n`)
  engine.writeStderr(`CNI protocol versions supported: ${SUPPORTED_VERSIONS.join(', ')}\n`)
  engine.writeStderr(`A runtime starts it, with CNI_COMMAND set. Commands for operators: ${name} --help\n`)
  return 0
}

/** What the verbs load when they are called. */
function parts(): Promise<unknown> {
  return Promise.all([
    import('./verbs/ahead.ts'),
    import('./verbs/add.ts'),
    import('./verbs/add-delegated.ts'),
    import('./verbs/check.ts'),
    import('./verbs/del.ts'),
    import('./verbs/delegated.ts'),
    import('./verbs/foreign.ts'),
    import('./verbs/foreign-gc.ts'),
    import('./verbs/forgotten.ts'),
    import('./verbs/former.ts'),
    import('./verbs/gc.ts'),
    import('./verbs/gc-network.ts'),
    import('./verbs/ipam.ts'),
    import('./verbs/nat.ts'),
    import('./verbs/reclaim.ts'),
    import('./verbs/reference-check.ts'),
    import('./verbs/status.ts'),
    import('./verbs/undo.ts'),
    import('./host/host-routes.ts'),
    import('./host/iptables.ts'),
    import('./host/nft-tables.ts'),
    import('./host/restore.ts'),
    import('./core/ipv6.ts'),
    import('./core/reference.ts'),
  ])
}

engine.start(main, parts)
