/**
 * What `src/engine/engine.ts` promises, as checks that run on whatever engine they are handed. Each gets an empty
 * directory of its own. No test library: this has to run on quickjs too.
 */
import type { Engine, Exit, SpawnOptions } from '../../src/engine/engine.ts'

/** In milliseconds: for what is to come, however busy the machine is. */
const PATIENCE = 60_000
/** A lock that shows life is nobody else's for as long as a check takes. */
const LOCK = { wait: PATIENCE, stale: 600_000 }

type Check = (engine: Engine, directory: string) => void | Promise<void>

export const checks: Readonly<Record<string, Check>> = {
  'a created file has its content': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'one\ntwo é 😀\n', 0o644)
    equal(engine.readFile(`${directory}/a`), 'one\ntwo é 😀\n')
    equal(engine.stat(`${directory}/a`).size, 16)
  },
  'a file is created empty when there is nothing to write': (engine, directory) => {
    engine.createFile(`${directory}/a`, '', 0o644)
    equal(engine.readFile(`${directory}/a`), '')
  },
  'a file is created with the mode given': async (engine, directory) => {
    engine.createFile(`${directory}/a`, 'x', 0o600)
    engine.createFile(`${directory}/b`, 'x', 0o400)
    const { stdout } = await run(engine, ['/usr/bin/stat', '-c', '%a', `${directory}/a`, `${directory}/b`])
    equal(stdout, '600\n400\n')
  },
  'creating is exclusive': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'first', 0o644)
    throws('EEXIST', () => engine.createFile(`${directory}/a`, 'second', 0o644))
    equal(engine.readFile(`${directory}/a`), 'first')
  },
  'creating needs a parent that is a directory': (engine, directory) => {
    throws('ENOENT', () => engine.createFile(`${directory}/none/a`, '', 0o644))
    engine.createFile(`${directory}/file`, '', 0o644)
    throws('ENOTDIR', () => engine.createFile(`${directory}/file/a`, '', 0o644))
  },
  'a failure tells the operation and the path': (engine, directory) => {
    const error = throws('ENOENT', () => engine.readFile(`${directory}/none`))
    equal([error.name, (error as { path?: string }).path], ['FileError', `${directory}/none`])
  },
  'reading a directory, or below a file, fails': (engine, directory) => {
    throws('EISDIR', () => engine.readFile(directory))
    engine.createFile(`${directory}/file`, '', 0o644)
    throws('ENOTDIR', () => engine.readFile(`${directory}/file/a`))
  },
  'what has a NUL in it is refused, not cut there': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'kept', 0o644)
    const path = `${directory}/a\0b`
    throws('EINVAL', () => engine.readFile(path))
    throws('EINVAL', () => engine.overwriteFile(path, ''))
    throws('EINVAL', () => engine.removeFile(path))
    throws('EINVAL', () => engine.rename(`${directory}/a`, path))
    throws('EINVAL', () => engine.stat(path))
    throws('EINVAL', () => start(engine, ['/bin/echo', 'a\0b']))
    throws('EINVAL', () => start(engine, ['/bin/echo'], { env: { A: 'a\0b' } }))
    equal(engine.readFile(`${directory}/a`), 'kept')
  },
  'a file without a size is read': (engine) => {
    equal(/^Name:/.test(engine.readFile('/proc/self/status')), true)
  },
  'a large file is read whole': (engine, directory) => {
    const text = 'x'.repeat(300_000)
    engine.createFile(`${directory}/a`, text, 0o644)
    equal(engine.readFile(`${directory}/a`) === text, true)
  },
  'overwriting replaces all of the content': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'a long content', 0o644)
    engine.overwriteFile(`${directory}/a`, 'short')
    equal(engine.readFile(`${directory}/a`), 'short')
  },
  'overwriting creates nothing': (engine, directory) => {
    throws('ENOENT', () => engine.overwriteFile(`${directory}/a`, 'x'))
    equal(engine.listDirectory(directory), [])
    throws('EISDIR', () => engine.overwriteFile(directory, 'x'))
  },
  'appending adds to what is there, and makes the file when there is none': (engine, directory) => {
    engine.appendFile(`${directory}/a`, 'one\n', 0o600)
    engine.appendFile(`${directory}/a`, 'zwei ü\n', 0o644)
    equal(engine.readFile(`${directory}/a`), 'one\nzwei ü\n')
    throws('EISDIR', () => engine.appendFile(directory, 'x', 0o600))
    throws('ENOENT', () => engine.appendFile(`${directory}/none/a`, 'x', 0o600))
  },
  'a copy has the same bytes, whatever they are, and the mode given': async (engine, directory) => {
    const program = '/usr/bin/stat'
    engine.copyFile(program, `${directory}/copy`, 0o755)
    const { stdout } = await run(engine, [`${directory}/copy`, '-c', '%a %s', `${directory}/copy`])
    equal(stdout, `755 ${engine.stat(program).size}\n`)
    equal((await run(engine, ['/usr/bin/cmp', program, `${directory}/copy`])).status, 0)
  },
  'copying is exclusive, and a copy that fails leaves nothing': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'first', 0o644)
    engine.createFile(`${directory}/b`, 'second', 0o644)
    throws('EEXIST', () => engine.copyFile(`${directory}/a`, `${directory}/b`, 0o755))
    equal(engine.readFile(`${directory}/b`), 'second')
    throws('ENOENT', () => engine.copyFile(`${directory}/none`, `${directory}/c`, 0o755))
    throws('EISDIR', () => engine.copyFile(directory, `${directory}/c`, 0o755))
    equal([...engine.listDirectory(directory)].sort(), ['a', 'b'])
  },
  'the running program is copied': async (engine, directory) => {
    engine.copyFile('/proc/self/exe', `${directory}/copy`, 0o700)
    equal((await run(engine, ['/usr/bin/cmp', '/proc/self/exe', `${directory}/copy`])).status, 1) // cmp's own
    equal(engine.stat(`${directory}/copy`).size, engine.stat('/proc/self/exe').size)
  },
  'a link is made, wherever it leads, but over nothing': (engine, directory) => {
    engine.makeLink('no/where', `${directory}/link`)
    equal(engine.readLink(`${directory}/link`), 'no/where')
    throws('EEXIST', () => engine.makeLink('else', `${directory}/link`))
    throws('ENOENT', () => engine.makeLink('else', `${directory}/none/link`))
    throws('EINVAL', () => engine.makeLink('a\0b', `${directory}/other`))
  },
  'a file gets another name, and keeps what it is': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'text', 0o640)
    engine.makeHardLink(`${directory}/a`, `${directory}/b`)
    equal(engine.stat(`${directory}/b`), engine.stat(`${directory}/a`))
    engine.removeFile(`${directory}/a`)
    equal(engine.readFile(`${directory}/b`), 'text')
    throws('EEXIST', () => engine.makeHardLink(`${directory}/b`, `${directory}/b`))
    throws('ENOENT', () => engine.makeHardLink(`${directory}/a`, `${directory}/c`))
    throws('EINVAL', () => engine.makeHardLink(`${directory}/b`, `${directory}/c\0d`))
  },
  'renaming replaces the target': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'new', 0o644)
    engine.createFile(`${directory}/b`, 'old', 0o644)
    engine.rename(`${directory}/a`, `${directory}/b`)
    equal(engine.listDirectory(directory), ['b'])
    equal(engine.readFile(`${directory}/b`), 'new')
    throws('ENOENT', () => engine.rename(`${directory}/a`, `${directory}/b`))
  },
  'what is not there is told by undefined, where that is an answer': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'ä', 0o644)
    equal(engine.readIfThere(`${directory}/a`), 'ä')
    equal(engine.statIfThere(`${directory}/a`), engine.stat(`${directory}/a`))
    for (const path of [`${directory}/none`, `${directory}/none/at/all`, `${directory}/a/b`]) {
      equal(engine.readIfThere(path), undefined)
      equal(engine.statIfThere(path), undefined)
    }
    throws('EISDIR', () => engine.readIfThere(directory))
    throws('EINVAL', () => engine.statIfThere(`${directory}/\0`))
    throws('ENAMETOOLONG', () => engine.statIfThere(`${directory}/${'x'.repeat(300)}`))
  },
  'what may not be there is not waited for, and not read without end': async (engine, directory) => {
    await run(engine, ['/usr/bin/mkfifo', `${directory}/pipe`])
    equal(engine.readIfThere(`${directory}/pipe`), '')
    const holder = start(engine, [
      '/bin/sh',
      '-c',
      `exec 3<>${directory}/pipe; echo held >${directory}/held; exec sleep 60`,
    ])
    while (engine.readIfThere(`${directory}/held`) !== 'held\n') await engine.sleep(5)
    throws('EAGAIN', () => engine.readIfThere(`${directory}/pipe`))
    holder.kill()
    await holder.exit
    engine.makeLink('/dev/zero', `${directory}/endless`)
    throws('EFBIG', () => engine.readIfThere(`${directory}/endless`))
  },
  'removing takes files only': (engine, directory) => {
    engine.createFile(`${directory}/a`, '', 0o644)
    engine.removeFile(`${directory}/a`)
    throws('ENOENT', () => engine.removeFile(`${directory}/a`))
    engine.makeDirectory(`${directory}/d`)
    throws('EISDIR', () => engine.removeFile(`${directory}/d`))
    equal(engine.listDirectory(directory), ['d'])
  },
  'removing takes the link, not what it points to': async (engine, directory) => {
    engine.makeDirectory(`${directory}/d`)
    await run(engine, ['/bin/ln', '-s', 'd', `${directory}/link`])
    engine.removeFile(`${directory}/link`)
    equal(engine.listDirectory(directory), ['d'])
  },
  'removing a directory takes empty directories only': (engine, directory) => {
    engine.makeDirectory(`${directory}/d`)
    engine.createFile(`${directory}/d/a`, '', 0o644)
    throws('ENOTEMPTY', () => engine.removeDirectory(`${directory}/d`))
    throws('ENOTDIR', () => engine.removeDirectory(`${directory}/d/a`))
    engine.removeFile(`${directory}/d/a`)
    engine.removeDirectory(`${directory}/d`)
    throws('ENOENT', () => engine.removeDirectory(`${directory}/d`))
  },
  'directories are made with their parents, and may exist': async (engine, directory) => {
    engine.makeDirectory(`${directory}/a/b/c`)
    engine.makeDirectory(`${directory}/a/b/c`)
    equal(engine.stat(`${directory}/a/b/c`).kind, 'directory')
    equal((await run(engine, ['/usr/bin/stat', '-c', '%a', `${directory}/a/b`])).stdout, '755\n')
  },
  'no directory is made over or below a file': (engine, directory) => {
    engine.createFile(`${directory}/file`, '', 0o644)
    throws('EEXIST', () => engine.makeDirectory(`${directory}/file`))
    throws('ENOTDIR', () => engine.makeDirectory(`${directory}/file/a/b`))
  },
  'a directory lists its names': (engine, directory) => {
    for (const name of ['.hidden', 'a', 'b c', 'é']) engine.createFile(`${directory}/${name}`, '', 0o644)
    equal([...engine.listDirectory(directory)].sort(), ['.hidden', 'a', 'b c', 'é'])
    throws('ENOENT', () => engine.listDirectory(`${directory}/none`))
    throws('ENOTDIR', () => engine.listDirectory(`${directory}/a`))
  },
  'stat tells kinds, and follows links': async (engine, directory) => {
    engine.createFile(`${directory}/a`, '12345', 0o644)
    await run(engine, ['/bin/ln', '-s', 'a', `${directory}/link`])
    await run(engine, ['/bin/ln', '-s', 'none', `${directory}/dangling`])
    equal(engine.stat(directory).kind, 'directory')
    equal(engine.stat('/dev/null').kind, 'other')
    equal(engine.stat(`${directory}/link`), engine.stat(`${directory}/a`))
    await run(engine, ['/usr/bin/touch', '-d', '@1234567890.25', `${directory}/a`])
    const { kind, size, modified } = engine.stat(`${directory}/a`)
    equal([kind, size, modified], ['file', 5, 1_234_567_890_250])
    throws('ENOENT', () => engine.stat(`${directory}/dangling`))
  },
  'stat identifies a namespace by device and inode': (engine) => {
    const { device, inode } = engine.stat('/proc/self/ns/net')
    equal(engine.readLink('/proc/self/ns/net'), `net:[${inode}]`)
    equal(device > 0, true)
  },
  'a link is read': async (engine, directory) => {
    await run(engine, ['/bin/ln', '-s', '/some/where', `${directory}/link`])
    equal(engine.readLink(`${directory}/link`), '/some/where')
    throws('EINVAL', () => engine.readLink(directory))
    throws('ENOENT', () => engine.readLink(`${directory}/none`))
  },
  'writable is told without a trace': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'content', 0o644)
    const before = JSON.stringify([engine.stat(directory), engine.stat(`${directory}/a`)])
    equal([directory, `${directory}/a`, `${directory}/none`].map(engine.canWrite), [true, true, false])
    equal(JSON.stringify([engine.stat(directory), engine.stat(`${directory}/a`)]), before)
    equal(engine.listDirectory(directory), ['a'])
    equal(engine.readFile(`${directory}/a`), 'content')
  },
  'an open file stays, whatever happens to its path': (engine, directory) => {
    engine.createFile(`${directory}/a`, 'kept', 0o644)
    const descriptor = engine.openFile(`${directory}/a`)
    engine.removeFile(`${directory}/a`)
    equal(engine.readFile(`/proc/self/fd/${descriptor}`), 'kept')
    engine.closeFile(descriptor)
    throws('ENOENT', () => engine.readFile(`/proc/self/fd/${descriptor}`))
    throws('ENOENT', () => engine.openFile(`${directory}/a`))
  },

  'a program ends with its status': async (engine) => {
    equal(await run(engine, ['/bin/sh', '-c', 'echo out; echo err >&2; exit 3']), {
      status: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      timedOut: false,
    })
  },
  'death by a signal is 128 and the signal': async (engine) => {
    equal((await run(engine, ['/bin/sh', '-c', 'kill -TERM $$'])).status, 143)
    // The engines catch or ignore SIGPIPE; their children must not.
    equal((await run(engine, ['/bin/sh', '-c', 'kill -PIPE $$'])).status, 141)
  },
  'arguments arrive as they are': async (engine) => {
    const { stdout } = await run(engine, ['/usr/bin/printf', '<%s>', 'a b', '', '$HOME', "'", 'é'])
    equal(stdout, "<a b><><$HOME><'><é>")
  },
  'the environment is exactly what was given': async (engine) => {
    equal((await run(engine, ['/usr/bin/env'], { env: { B: 'two words', A: '' } })).stdout, 'B=two words\nA=\n')
    equal((await run(engine, ['/usr/bin/env'])).stdout, '')
  },
  'a program runs in /': async (engine) => {
    equal((await run(engine, ['/bin/pwd'])).stdout, '/\n')
  },
  'no other descriptor is passed on': async (engine) => {
    const kept = engine.openFile('/dev/null')
    const other = start(engine, ['/bin/cat'])
    const script = 'i=3; while [ $i -lt 40 ]; do [ -e /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done; exit 0'
    equal(await run(engine, ['/bin/sh', '-c', script]), { status: 0, stdout: '', stderr: '', timedOut: false })
    other.end()
    await other.exit
    engine.closeFile(kept)
  },
  'a missing program has status 127, or is refused': async (engine, directory) => {
    engine.createFile(`${directory}/not-executable`, '', 0o644)
    for (const file of ['/no/such/program', `${directory}/not-executable`]) {
      const { status, stderr } = await run(engine, [file])
      equal([status, stderr.startsWith(file)], [127, true])
    }
  },
  'a program that can not be started leaves the errors of its starter what they are': async (engine, directory) => {
    // The two may run at the same time: so often enough for one to fail between another's call and the look at its error.
    const file = `${directory}/not-executable`
    engine.createFile(file, '', 0o644)
    for (let i = 0; i < (engine.describeEngine().startsWith('node') ? 5 : 400); i++) {
      const children = [1, 2, 3, 4, 5, 6].map(() => run(engine, [file]))
      for (let look = 0; look < 300; look++) throws('ENOENT', () => engine.listDirectory(`${directory}/missing`))
      await Promise.all(children)
    }
  },
  'what is written arrives, and the end of it too': async (engine) => {
    const child = start(engine, ['/bin/cat'])
    child.write('one ')
    child.write('')
    child.write('two é')
    child.end()
    equal(await child.exit, { status: 0, stdout: 'one two é', stderr: '', timedOut: false })
  },
  'three megabytes go both ways at once': async (engine) => {
    const child = start(engine, ['/bin/cat'])
    const block = '0123456789abcde\n'.repeat(4096)
    for (let i = 0; i < 48; i++) child.write(block)
    child.end()
    const { status, stdout } = await child.exit
    equal([status, stdout === block.repeat(48)], [0, true])
  },
  'both outputs are drained at once': async (engine) => {
    const script = 'i=0; while [ $i -lt 40 ]; do head -c 10000 /dev/zero; head -c 10000 /dev/zero >&2; i=$((i+1)); done'
    const { stdout, stderr } = await run(engine, ['/bin/sh', '-c', script], { env: { PATH: '/usr/bin:/bin' } })
    equal([stdout.length, stderr.length], [400_000, 400_000])
  },
  'a dialog goes back and forth': async (engine) => {
    let heard = ''
    let wake = (): void => {}
    const child = start(engine, ['/bin/cat'], {
      onStdout: (text) => {
        heard += text
        if (heard.endsWith('\n')) wake()
      },
    })
    for (let i = 0; i < 200; i++) {
      const answer = new Promise<void>((resolve) => {
        wake = resolve
      })
      heard = ''
      child.write(`line ${i}\n`)
      await answer
      equal(heard, `line ${i}\n`)
    }
    child.end()
    equal(await child.exit, { status: 0, stdout: '', stderr: '', timedOut: false })
  },
  'two children are served side by side': async (engine) => {
    const [first, second] = [start(engine, ['/bin/cat']), start(engine, ['/bin/cat'])]
    second.write('second')
    second.end()
    equal((await second.exit).stdout, 'second')
    first.write('first')
    first.end()
    equal((await first.exit).stdout, 'first')
  },
  'stderr can be looked at while the child runs': async (engine) => {
    const child = start(engine, ['/bin/sh', '-c', 'echo problem >&2; read line'], { env: { PATH: '/usr/bin:/bin' } })
    while (child.stderrSoFar() === '') await engine.sleep(5) // the child waits for us
    equal(child.stderrSoFar(), 'problem\n')
    child.end()
    equal((await child.exit).stderr, 'problem\n')
  },
  'what is said on stderr is told of as it comes': async (engine) => {
    let heard = (): void => {}
    const hasSpoken = new Promise<void>((resolve) => {
      heard = resolve
    })
    const child = start(engine, ['/bin/sh', '-c', 'echo problem >&2; read line'], {
      env: { PATH: '/usr/bin:/bin' },
      onStderr: () => heard(),
    })
    await hasSpoken // the child waits for us
    equal(child.stderrSoFar(), 'problem\n')
    child.end()
    equal((await child.exit).stderr, 'problem\n')
  },
  'only whole characters are handed on': async (engine) => {
    const pieces: string[] = []
    // It goes on when it is heard, so that no two pieces come together.
    const script = "printf 'a\\303'; read x; printf '\\251b\\360\\237'; read x; printf '\\230\\200\\342\\202'"
    const child = start(engine, ['/bin/sh', '-c', script], {
      env: { PATH: '/usr/bin:/bin' },
      onStdout: (text) => {
        pieces.push(text)
        child.write('\n')
      },
    })
    equal((await child.exit).status, 0)
    equal(pieces.slice(0, 2), ['a', 'éb'])
    equal(pieces.slice(2).join(''), '😀\ufffd')
  },
  'bytes that are not UTF-8 are replaced': async (engine) => {
    const bytes = 'a\\377b\\300\\257c\\355\\240\\200d\\360\\237e\\342\\202'
    equal(
      (await run(engine, ['/usr/bin/printf', bytes])).stdout,
      'a\ufffdb\ufffd\ufffdc\ufffd\ufffd\ufffdd\ufffde\ufffd',
    )
  },
  'the deadline ends a child that talks without end': async (engine) => {
    let length = 0
    const exit = await run(engine, ['/usr/bin/yes'], {
      deadline: 1000,
      onStdout: (text) => {
        length += text.length
      },
    })
    equal([exit.status, exit.timedOut, length > 0], [137, true, true])
  },
  'the deadline ends a child that has closed its outputs': async (engine) => {
    const script = 'exec >&- 2>&-; exec sleep 1000'
    const exit = await run(engine, ['/bin/sh', '-c', script], { env: { PATH: '/usr/bin:/bin' }, deadline: 200 })
    equal([exit.status, exit.timedOut], [137, true])
  },
  'a child that has closed its outputs is waited for': async (engine) => {
    const script = 'exec >&- 2>&-; sleep 0.1; exit 5'
    const exit = await run(engine, ['/bin/sh', '-c', script], { env: { PATH: '/usr/bin:/bin' } })
    equal([exit.status, exit.timedOut], [5, false])
  },
  'a grandchild that keeps the pipes is not waited for beyond the deadline': async (engine) => {
    const script = 'sleep 1000 & echo $!; exit 4'
    const options = { env: { PATH: '/usr/bin:/bin' }, deadline: 3000 }
    const { stdout, ...exit } = await run(engine, ['/bin/sh', '-c', script], options)
    equal(exit, { status: 4, stderr: '', timedOut: false })
    // It lives, so it was not waited for.
    equal((await run(engine, ['/bin/sh', '-c', `kill ${stdout}`])).status, 0)
  },
  'what was said before the deadline is heard, though this process was late': async (engine) => {
    const child = start(engine, ['/bin/echo', 'in time'], { deadline: 200 })
    const started = engine.monotonic()
    const hasEnded = () => /\) Z [^)]*$/.test(engine.readFile(`/proc/${child.pid}/stat`))
    while (engine.monotonic() - started < 300 || !hasEnded());
    equal(await child.exit, { status: 0, stdout: 'in time\n', stderr: '', timedOut: false })
  },
  'a child can be killed': async (engine) => {
    const child = start(engine, ['/bin/cat'])
    child.kill()
    const exit = await child.exit
    equal([exit.status, exit.timedOut], [137, false])
    child.kill()
    child.write('too late')
    child.end()
  },
  'what a child that has gone does not read is dropped': async (engine) => {
    const child = start(engine, ['/bin/true'])
    child.write('x'.repeat(1_000_000))
    equal((await child.exit).status, 0)
    child.write('more')
    await engine.sleep(10)
    child.end()
  },
  'writing to a child that does not read never blocks': async (engine) => {
    const child = start(engine, ['/bin/sleep', '1000'])
    child.write('x'.repeat(1_000_000))
    await engine.sleep(20)
    child.write('more')
    child.kill() // before it ends by itself
    equal((await child.exit).status, 137)
  },

  'the clocks run': async (engine) => {
    const [before, now, after] = [Date.now(), engine.now(), Date.now()]
    equal(before <= now && now <= after, true)
    const started = engine.monotonic()
    await engine.sleep(30)
    equal(engine.monotonic() - started >= 28, true)
  },
  'the process knows itself': (engine) => {
    equal(String(engine.processId()), engine.readLink('/proc/self'))
    equal(new RegExp(`^Uid:\\t\\d+\\t${engine.userId()}\\t`, 'm').test(engine.readFile('/proc/self/status')), true)
    equal(/^(node|quickjs-ng) \d+\.\d+\.\d+$/.test(engine.describeEngine()), true)
  },
  'the environment is told': (engine) => {
    equal(engine.readEnv('CONTRACT'), 'a value = é')
    equal(engine.readEnv('CONTRACT_EMPTY'), '')
    equal(engine.readEnv('CONTRACT_NONE'), undefined)
    equal(engine.environment().CONTRACT, 'a value = é')
  },

  'the lock is a directory while it is held': async (engine, directory) => {
    const release = await engine.lock(`${directory}/a`, LOCK)
    equal(engine.stat(`${directory}/a.lock`).kind, 'directory')
    release()
    equal(engine.listDirectory(directory), [])
  },
  'a held lock is waited for, but not for ever': async (engine, directory) => {
    engine.makeDirectory(`${directory}/a.lock`)
    const started = engine.monotonic()
    await rejects('LockTimeout', engine.lock(`${directory}/a`, { ...LOCK, wait: 120 }))
    equal(engine.monotonic() - started >= 115, true)
    setTimeoutOf(engine, 40, () => engine.removeDirectory(`${directory}/a.lock`))
    const release = await engine.lock(`${directory}/a`, LOCK)
    release()
  },
  'a lock without a sign of life is taken over': async (engine, directory) => {
    engine.makeDirectory(`${directory}/a.lock`)
    await run(engine, ['/usr/bin/touch', '-d', '20 minutes ago', `${directory}/a.lock`])
    const release = await engine.lock(`${directory}/a`, LOCK)
    release()
    equal(engine.listDirectory(directory), [])
  },
  'a lock is given back once': async (engine, directory) => {
    const release = await engine.lock(`${directory}/a`, LOCK)
    release()
    const releaseSecond = await engine.lock(`${directory}/a`, LOCK)
    release()
    equal(engine.listDirectory(directory), ['a.lock'])
    releaseSecond()
  },
  'giving back a lock that is gone is no error': async (engine, directory) => {
    const release = await engine.lock(`${directory}/a`, LOCK)
    engine.removeDirectory(`${directory}/a.lock`)
    release()
  },
  'a lock needs a parent': async (engine, directory) => {
    await rejects('FileError', engine.lock(`${directory}/none/a`, LOCK))
  },
}

function start(engine: Engine, argv: readonly [string, ...string[]], options: Partial<SpawnOptions> = {}) {
  return engine.spawn({ argv, env: {}, deadline: PATIENCE, ...options })
}

function run(engine: Engine, argv: readonly [string, ...string[]], options: Partial<SpawnOptions> = {}): Promise<Exit> {
  const child = start(engine, argv, options)
  child.end()
  return child.exit
}

function setTimeoutOf(engine: Engine, milliseconds: number, action: () => void): void {
  void engine.sleep(milliseconds).then(action)
}

function equal(actual: unknown, expected: unknown): void {
  const [is, want] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (is !== want) throw new Error(`want ${want}, have ${is}`)
}

function throws(code: string, action: () => unknown): Error {
  try {
    action()
  } catch (error) {
    equal((error as { code?: string }).code, code)
    return error as Error
  }
  throw new Error(`want ${code}, have no error`)
}

async function rejects(name: string, promise: Promise<unknown>): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: Error) => reason,
  )
  equal(error?.name, name)
}
