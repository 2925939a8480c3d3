/** What disks, clocks, crashes and people do to the store, and what an ADD or DEL makes of it. */
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { addresses, leftovers, marksOf, STORE, store } from './observe.ts'
import { add, addressesOf, BRIDGE, callPlugin, check, conf, del, expectFault, NET, startPlugin } from './plugin.ts'
import { holdLock, isHeld } from './until.ts'

const FOLDER = `${STORE}/${NET}`
const small = conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/29' }]] } })
const SMALL = ['10.9.0.2', '10.9.0.3', '10.9.0.4', '10.9.0.5', '10.9.0.6']

/** Puts a file into the store, as old as a crash before lunch. */
function leave(lab: Lab, name: string, content: string, secondsAgo = 3600): void {
  mkdirSync(lab.root + FOLDER, { recursive: true })
  writeFileSync(`${lab.root}${FOLDER}/${name}`, content, 'latin1')
  const then = Date.now() / 1000 - secondsAgo
  utimesSync(`${lab.root}${FOLDER}/${name}`, then, then)
}

/** Mounts a small file system over the folder of the stores. */
const mountStore = (lab: Lab, options: string): string =>
  lab.must('sh', '-c', `mkdir -p ${STORE}; mount -t tmpfs -o ${options} t ${STORE}`)

forEachExecutable((executable) => {
  describe('a crash left', () => {
    const remains = [
      { name: 'an empty file for every address', content: '' },
      { name: 'garbage for every address', content: '\x00\xff\xfe\x80 garbage \x00' },
      { name: 'half an owner for every address', content: '\r\n' },
    ]
    test.each(remains)('$name: the addresses are given out again', async ({ content }) => {
      const lab = await openLab(executable)
      for (const address of SMALL) leave(lab, address, content)
      const one = add(lab, 'a', small)
      expect(SMALL).toContain(addressesOf(one.result)[0])
      expect(check(lab, one).status).toBe(0)
      del(lab, one)
      expect(leftovers(lab, ...marksOf(one)).filter((left) => !left.startsWith('store '))).toEqual([])
    })

    test('an empty file a moment ago: it is a writer between its two steps, and keeps the address', async () => {
      const lab = await openLab(executable)
      // Its time is a little ahead: it stays young, also on a slow machine.
      for (const address of SMALL) leave(lab, address, '', -25)
      expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('a'), conf: small }), {
        code: 100,
        about: /10\.9\.0/,
      })
      expect(Object.keys(store(lab))).toHaveLength(5)
      expect(lab.ip('-j link show type veth')).toEqual([])
    })

    test('folders, locks and alien files among the reservations: they are passed over and stay', async () => {
      const lab = await openLab(executable)
      mkdirSync(`${lab.root}${FOLDER}/10.9.0.2`, { recursive: true })
      leave(lab, 'README', 'not an address')
      leave(lab, 'last_reserved_ip.0', 'garbage')
      leave(lab, '10.9.0.3.bak', 'c1\r\neth0')
      const one = add(lab, 'a', small)
      expect(addressesOf(one.result)).toEqual(['10.9.0.3'])
      del(lab, one)
      expect(lab.must('ls', FOLDER).split('\n')).toEqual(expect.arrayContaining(['10.9.0.2', '10.9.0.3.bak', 'README']))
    })

    test('a damaged entry in the index: DEL finds everything all the same', async () => {
      const lab = await openLab(executable)
      const one = add(lab, 'a')
      lab.must('sh', '-c', `for f in /run/pontoon/${NET}/*; do printf '{"version":1,"addr' > $f; done`)
      del(lab, one)
      expect(
        leftovers(lab, ...marksOf(one)).filter((left) => !left.endsWith(addressesOf(one.result)[0] as string)),
      ).toEqual([])
    })
  })

  test('two hundred and fifty sandboxes vanish without a DEL: the next pod gets an address, and NAT of its own', async () => {
    const lab = await openLab(executable)
    const config = conf({ ipam: { ranges: [[{ subnet: '10.9.0.0/27' }]] } })
    for (let i = 0; i < 40; i++) {
      add(lab, `n${i}`, config)
      lab.must('ip', 'netns', 'del', `n${i}`)
    }
    const last = add(lab, 'last', config)
    expect(check(lab, last).status).toBe(0)
    del(lab, last)
    expect(callPlugin(lab, 'GC', { conf: { ...config, 'cni.dev/valid-attachments': [] } }).status).toBe(0)
    expect(leftovers(lab, '10.9.0.')).toEqual([])
  })

  describe('the machine was booted', () => {
    const reboot = (lab: Lab): void => {
      for (const netns of lab.namespaces()) lab.must('ip', 'netns', 'del', netns)
      lab.must('sh', '-c', `ip link del ${BRIDGE} 2>/dev/null; nft flush ruleset; rm -rf /run/pontoon`)
      lab.must('sh', '-c', `[ ! -e ${FOLDER}/pontoon.boot ] || echo another > ${FOLDER}/pontoon.boot`)
      for (const name of Object.keys(store(lab))) {
        leave(lab, name, readFileSync(`${lab.root}${FOLDER}/${name}`, 'latin1'), 10 * 365 * 86_400)
      }
    }

    test('with every address taken: they are given back on the first ADD, and it says which', async () => {
      const lab = await openLab(executable)
      for (const name of ['a', 'b', 'c', 'd', 'e']) add(lab, name, small)
      reboot(lab)
      expect(callPlugin(lab, 'STATUS', { conf: small, ifname: '' }), 'else no ADD ever comes').toMatchObject({
        status: 0,
      })
      const done = callPlugin(lab, 'ADD', { id: 'fresh', netns: lab.netns('f'), conf: small })
      expect(done).toMatchObject({ status: 0, stderr: expect.stringContaining('pod-a, of another boot') })
      expect(Object.values(store(lab))).toEqual(['fresh\r\neth0'])
    })

    test('and a container comes back under its ID: it gets the addresses again that it had', async () => {
      const lab = await openLab(executable)
      const [, old] = ['a', 'b', 'c'].map((name) => add(lab, name, small))
      reboot(lab)
      const again = add(lab, 'b2', small, { id: 'pod-b' })
      expect(addressesOf(again.result)).toEqual(addressesOf((old as typeof again).result))
      expect(Object.values(store(lab))).toEqual(['pod-b\r\neth0'])
    })

    test('where nothing tells that one is dead, the first ADD reads no reservation but those that may be its own', async () => {
      const lab = await openLab(executable)
      for (let i = 2; i < 200; i++) leave(lab, `10.9.1.${i}`, `another-pod-${i}\r\neth0`, 0)
      leave(lab, '10.9.1.200', 'pod-x\r\neth0', 0)
      const wide = conf({ ipMasq: false, ipam: { ranges: [[{ subnet: '10.9.0.0/16' }]] } })
      const under = ['strace', '-qq', '-o', '/run/trace', '-e', 'trace=openat', '-e', 'signal=none']
      const done = callPlugin(lab, 'ADD', { id: 'pod-x', netns: lab.netns('x'), conf: wide, under })
      expect(done).toMatchObject({ status: 0, json: { ips: [{ address: '10.9.1.200/16' }] } })
      const read = readFileSync(`${lab.root}/run/trace`, 'utf8').match(/10\.9\.1\.\d+(?=", O_RDONLY)/g) ?? []
      expect([...new Set(read)]).toEqual(['10.9.1.200'])
      expect(Object.keys(store(lab))).toHaveLength(199)
    })

    test('and a pod that the reference has made since then lives: what looks old is not touched', async () => {
      const lab = await openLab(executable)
      for (const name of ['a', 'b']) add(lab, name, small)
      reboot(lab)
      lab.must('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
      lab.netns('old')
      lab.must('ip', 'link', 'add', 'vethold', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', 'old')
      lab.must('ip', 'link', 'set', 'vethold', 'master', BRIDGE)
      callPlugin(lab, 'ADD', { id: 'fresh', netns: lab.netns('f'), conf: small })
      expect(Object.keys(store(lab))).toHaveLength(3)
    })
  })

  test('the index was wiped while pods live: their addresses are kept, CHECK and DEL go on', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', small)
    lab.must('rm', '-rf', '/run/pontoon')
    const two = add(lab, 'b', small)
    expect(addressesOf(two.result)).not.toEqual(addressesOf(one.result))
    expect(check(lab, one).status).toBe(0)
    del(lab, one)
    del(lab, two)
    expect(leftovers(lab, ...marksOf(one, two))).toEqual([])
  })

  test('the store was wiped while pods live: their addresses are not given out, and their reservations are put back', async () => {
    const lab = await openLab(executable)
    const old = ['a', 'b'].map((name) => add(lab, name, small))
    lab.must('rm', '-rf', FOLDER)
    const fresh = ['c', 'd', 'e'].map((name) => add(lab, name, small))
    const given = [...old, ...fresh].map((one) => addressesOf(one.result)[0])
    expect(new Set(given).size).toBe(5)
    expect(store(lab)).toMatchObject({ '10.9.0.2': 'pod-a\r\neth0', '10.9.0.3': 'pod-b\r\neth0' })
    expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x'), conf: small }), { code: 100 })
    for (const one of [...old, ...fresh]) del(lab, one)
    expect(leftovers(lab, ...marksOf(...old, ...fresh))).toEqual([])
  })

  test('the clock was set back a year: nothing is taken for dead, nothing is given out twice', async () => {
    const lab = await openLab(executable)
    const one = add(lab, 'a', small)
    lab.must('sh', '-c', `find ${FOLDER} /run/pontoon -type f -exec touch -d '+1 year' {} +`)
    const others = ['b', 'c', 'd', 'e'].map((name) => add(lab, name, small))
    expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x'), conf: small }), { code: 100 })
    expect(check(lab, one).status).toBe(0)
    for (const each of [one, ...others]) del(lab, each)
    expect(leftovers(lab, ...marksOf(one, ...others))).toEqual([])
  })

  describe('the disk', () => {
    test('is full: ADD says so with the path and leaves nothing; DEL still frees', async () => {
      const lab = await openLab(executable)
      mountStore(lab, 'size=64k,nr_inodes=8')
      const one = add(lab, 'a', small)
      for (let i = 0; i < 8; i++) lab.run(['sh', '-c', `: > ${STORE}/filler${i}`])
      const done = callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x'), conf: small })
      expectFault(done, { code: 5, about: /ENOSPC.*full|full.*ENOSPC/s })
      expect(done.stdout).toContain(FOLDER)
      expect(Object.values(store(lab))).toEqual(['pod-a\r\neth0'])
      expect(lab.ip('-n x -j link show').map((link: Json) => link.ifname)).toEqual(['lo'])
      lab.must('sh', '-c', `rm ${STORE}/filler0`) // a lock needs an inode
      del(lab, one)
      expect(store(lab)).toEqual({})
    })

    test('is read-only: ADD and DEL say so and change nothing, STATUS is not ready, and DEL works when it is not', async () => {
      const lab = await openLab(executable)
      mountStore(lab, 'size=1m')
      const one = add(lab, 'a', small)
      lab.must('mount', '-o', 'remount,ro', STORE)
      const want = { code: 5, about: /EROFS.*read-only/s }
      expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x'), conf: small }), want)
      expectFault(callPlugin(lab, 'STATUS', { conf: small }), { code: 50, about: /not writable/ })
      expectFault(callPlugin(lab, 'DEL', { id: 'pod-a', netns: 'a', conf: small }), want)
      lab.must('mount', '-o', 'remount,rw', STORE)
      del(lab, one)
      expect(leftovers(lab, 'x', ...marksOf(one))).toEqual([])
    })

    test('holds an immutable reservation: DEL says which, and succeeds once it can', async () => {
      const lab = await openLab(executable)
      mountStore(lab, 'size=1m')
      const one = add(lab, 'a', small)
      const file = `${FOLDER}/${addressesOf(one.result)[0]}`
      lab.must('chattr', '+i', file)
      expectFault(callPlugin(lab, 'DEL', { id: 'pod-a', netns: 'a', conf: small }), {
        code: 5,
        about: /EPERM.*chattr/s,
      })
      lab.must('chattr', '-i', file)
      del(lab, one)
      expect(leftovers(lab, ...marksOf(one))).toEqual([])
    })

    test('has a file where the store should be: ADD and STATUS name it', async () => {
      const lab = await openLab(executable)
      lab.must('sh', '-c', `rm -rf ${STORE}; mkdir -p ${STORE}; : > ${FOLDER}`)
      expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x'), conf: small }), {
        code: 5,
        about: /ENOTDIR|EEXIST/,
      })
      expectFault(callPlugin(lab, 'STATUS', { conf: small }), { code: 50, about: /not a folder/ })
      expect(callPlugin(lab, 'DEL', { id: 'x', netns: 'x', conf: small }).status).toBe(0)
      expect(lab.ip('-n x -j link show').map((link: Json) => link.ifname)).toEqual(['lo'])
    })
  })

  describe('the lock of the store', () => {
    test('was left by a process that is dead: the next ADD takes it, and does not wait in vain', async () => {
      const lab = await openLab(executable)
      mkdirSync(`${lab.root}${FOLDER}/lock.lock`, { recursive: true })
      const one = add(lab, 'a', small)
      del(lab, one)
      expect(leftovers(lab, ...marksOf(one))).toEqual([])
    })

    test('is held on: ADD gives up with code 11 and names the holder, and leaves nothing; DEL and STATUS answer', async () => {
      const lab = await openLab(executable)
      mkdirSync(`${lab.root}${FOLDER}/lock.lock`, { recursive: true })
      // Fresh for a while: the keeper may have to wait for its turn.
      const keep = `echo $$ >/run/keeper; while :; do touch -d '+1 hour' ${FOLDER}/lock.lock; sleep 0.3; done`
      const keeper = lab.background('sh', '-c', keep)
      mkdirSync(`${lab.root}/run/pontoon`, { recursive: true })
      const pid = lab.must('sh', '-c', 'until [ -s /run/keeper ]; do sleep 0.05; done; cat /run/keeper').trim()
      writeFileSync(`${lab.root}/run/pontoon/holder${FOLDER.replaceAll('/', '%')}`, `${pid}\n`)
      const [added, removed] = await Promise.all([
        startPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x'), conf: small }),
        startPlugin(lab, 'STATUS', { conf: small }),
      ])
      expectFault(added, { code: 11, about: new RegExp(`locked.*process ${pid} \\(sh\\)`, 's') })
      expect(added.stderr, 'it has waited once').toBe('')
      expect(removed.status).toBe(0)
      keeper.stop()
      rmSync(`${lab.root}${FOLDER}/lock.lock`, { recursive: true })
      expect(leftovers(lab, 'x')).toEqual([])
    })

    test('of the reference, a flock that somebody holds, is no obstacle', async () => {
      const lab = await openLab(executable)
      mkdirSync(lab.root + FOLDER, { recursive: true })
      await holdLock(lab, `${FOLDER}/lock`)
      const one = add(lab, 'a', small)
      del(lab, one)
      expect(isHeld(lab, `${FOLDER}/lock`)).toBe(true)
    })
  })

  test('an ADD that fails says the first cause, each time the same, and leaves no port behind', async () => {
    const lab = await openLab(executable)
    lab.must('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
    lab.must('ip', 'addr', 'add', '10.9.0.200/24', 'dev', BRIDGE)
    lab.netns('w')
    for (const id of ['w1', 'w2', 'w3']) {
      expectFault(callPlugin(lab, 'ADD', { id, netns: 'w', conf: conf() }), {
        code: 101,
        about: /10\.9\.0\.200\/24.*forceAddress/s,
      })
    }
    expect(leftovers(lab, 'w1', 'w2', 'w3', '10.9.0.2')).toEqual([])
    expect(addresses(lab, BRIDGE)).toEqual(['10.9.0.200/24'])
  })
})
