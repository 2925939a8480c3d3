/** The log of calls in the journal: real datagrams by the real logger, to a socket where systemd-journald has its own. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { add, addressesOf, callPlugin, conf, del } from './plugin.ts'
import { said, until } from './until.ts'

const FOLDER = '/run/systemd/journal'
const LISTENER = `
use Socket;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die $!;
bind($socket, pack_sockaddr_un('${FOLDER}/socket')) or die $!;
$| = 1;
print "ready\\n";
while (defined recv($socket, my $entry, 1 << 20, 0)) { print unpack('H*', $entry), "\\n" }
`

type Entry = Readonly<Record<string, string>>

/** Stands in for systemd-journald; `entries` waits until so many have come. */
async function openJournal(lab: Lab) {
  mkdirSync(lab.root + FOLDER, { recursive: true })
  const listener = lab.background('perl', '-e', LISTENER)
  await said(listener, 'ready')
  const received = (): Entry[] => listener.output().split('\n').slice(1, -1).map(entryOf)
  return {
    stop: listener.stop,
    async entries(count: number): Promise<readonly Entry[]> {
      await until(() => received().length >= count, listener.output)
      return received()
    },
  }
}

/** The journal's own protocol, for values without line breaks: `FIELD=value`, one a line. */
function entryOf(hex: string): Entry {
  const lines = Buffer.from(hex, 'hex').toString().split('\n').slice(0, -1)
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

forEachExecutable((executable) => {
  describe('the log in the journal', () => {
    test('has each call as one entry: the line, and fields to search for', async () => {
      const lab = await openLab(executable)
      const journal = await openJournal(lab)
      const args = 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web'
      const one = add(lab, 'a', conf({ log: 'journal' }), { args })
      expect(one.result).toMatchObject({ cniVersion: '1.1.0' })
      const [entry = {}] = await journal.entries(1)
      const { MESSAGE = '', ...fields } = entry
      const line = JSON.parse(MESSAGE)
      expect(line).toMatchObject({ verb: 'ADD', containerID: 'pod-a', pod: 'shop/web', outcome: 'ok' })
      expect(fields).toEqual({
        PRIORITY: '6',
        SYSLOG_IDENTIFIER: 'pontoon',
        SYSLOG_PID: String(line.pid),
        PONTOON_VERB: 'ADD',
        PONTOON_NETWORK: 't',
        PONTOON_CONTAINER_ID: 'pod-a',
        PONTOON_IFNAME: 'eth0',
        PONTOON_POD: 'shop/web',
        PONTOON_OUTCOME: 'ok',
      })
      callPlugin(lab, 'ADD', { id: 'pod-a', netns: 'a', conf: one.conf })
      const [, failed] = await journal.entries(2)
      expect(failed).toMatchObject({ PRIORITY: '3', PONTOON_OUTCOME: 'failed', PONTOON_CODE: '101' })
      del(lab, one)
      expect((await journal.entries(3))[2]).toMatchObject({ PONTOON_VERB: 'DEL', PONTOON_OUTCOME: 'ok' })
    })

    test('by PONTOON_LOG too, before what the configuration says; a caller can not write fields', async () => {
      const lab = await openLab(executable)
      const journal = await openJournal(lab)
      const env = { PONTOON_LOG: 'journal' }
      add(lab, 'a', conf({ log: '/run/pontoon.jsonl' }), { env })
      await journal.entries(1) // no call waits for its entry: the second one's could come first
      callPlugin(lab, 'ADD', { id: 'x\nPONTOON_POD=forged', netns: 'a', env })
      const [first, second] = await journal.entries(2)
      expect(first).toMatchObject({ PONTOON_CONTAINER_ID: 'pod-a' })
      expect(Object.keys(second ?? {})).not.toContain('PONTOON_POD')
      expect(JSON.parse(second?.MESSAGE ?? '')).toMatchObject({ containerID: 'x\nPONTOON_POD=forged', code: 4 })
      expect(lab.run(['ls', '/run/pontoon.jsonl']).status).toBe(2)
    })

    test('of what is longer than an entry may be, the outcome', async () => {
      const lab = await openLab(executable)
      const journal = await openJournal(lab)
      callPlugin(lab, 'ADD', { id: 'a', netns: `/${'n/'.repeat(1500)}`, conf: conf({ log: 'journal' }) })
      const [entry] = await journal.entries(1)
      expect(JSON.parse(entry?.MESSAGE ?? '')).toMatchObject({
        verb: 'ADD',
        containerID: 'a',
        outcome: 'failed',
        code: 4,
      })
    })

    test('without a journal the call succeeds, and says so on stderr', async () => {
      const lab = await openLab(executable)
      const one = callPlugin(lab, 'ADD', { id: 'a', netns: lab.netns('a'), conf: conf({ log: 'journal' }) })
      expect(addressesOf(one.json)).toEqual(['10.9.0.2'])
      expect(one).toMatchObject({ status: 0, stderr: expect.stringContaining('the journal does not run') })
    })

    test('a journal that takes nothing, or nobody who speaks with it, fails no call', async () => {
      const lab = await openLab(executable)
      const journal = await openJournal(lab)
      journal.stop()
      const one = add(lab, 'a', conf({ log: 'journal' }))
      expect(del(lab, one).stderr).toBe('')
      writeFileSync(`${lab.root}/run/none`, '')
      lab.must('mount', '--bind', '/run/none', lab.must('readlink', '-f', '/usr/bin/logger').trim())
      const two = callPlugin(lab, 'ADD', { id: 'b', netns: lab.netns('b'), conf: conf({ log: 'journal' }) })
      expect(two).toMatchObject({ status: 0, stderr: expect.stringContaining('logger is missing') })
    })

    test('nothing waits for a journal that is stuck: what it does not take in a second is dropped', async () => {
      const lab = await openLab(executable)
      mkdirSync(lab.root + FOLDER, { recursive: true })
      // Takes none of what is queued, and the queue is full.
      const fill = `use Socket; use IO::Handle;
        my @pair = map { socket(my $s, AF_UNIX, SOCK_DGRAM, 0); $s } 1, 2;
        my $at = pack_sockaddr_un('${FOLDER}/socket');
        bind($pair[0], $at) or die $!;
        $pair[1]->blocking(0);
        1 while defined send($pair[1], 'x', 0, $at);
        $| = 1; print "full\\n"; sleep 100`
      const stuck = lab.background('perl', '-e', fill)
      await said(stuck, 'full')
      add(lab, 'a', conf({ log: 'journal' }))
      const loggers = () => lab.processes().filter((text) => text.includes('logger'))
      await until(
        () => loggers().length === 0,
        () => loggers().join('\n'),
      )
    })
  })
})
