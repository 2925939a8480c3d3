/** The operator's commands on a terminal: how wide it is, what it can, and how far long work has come. */
import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { putConf } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { add, conf, dualStack } from './plugin.ts'

const ESCAPE = '\u001b'

/** What a terminal of so many columns gets to see. */
function onTerminal(lab: Lab, columns: number, line: string): string {
  const shown = lab.must('script', '-qec', `stty cols ${columns}; ${line}`, '/dev/null').replaceAll('\r\n', '\n')
  lab.note(shown)
  return shown
}

/** Colours take no room. */
const widths = (text: string) => text.split('\n').map((line) => stripVTControlCharacters(line).length)

forEachExecutable((executable) => {
  test('a table fits a narrow terminal, says what it leaves out, and is whole where nobody looks', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a', conf(), { args: 'K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-7d4b9c6f5-x2x9z' })
    const narrow = onTerminal(lab, 60, '/opt/cni/bin/pontoon leases')
    expect(Math.max(...widths(narrow))).toBeLessThanOrEqual(60)
    expect(narrow).toContain('web-7d4b9c6f5-x2x9z')
    expect(narrow).toMatch(/left out, as the terminal is narrow: NETNS, HOST VETH/)
    expect(onTerminal(lab, 200, '/opt/cni/bin/pontoon leases')).toContain('/run/netns/a')
    expect(onTerminal(lab, 60, '/opt/cni/bin/pontoon leases | cat')).toContain('/run/netns/a')
  })

  test('a watch ends with its reader', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    for (const flags of ['--watch 1', '--watch 1 --json']) {
      const line = `/opt/cni/bin/pontoon leases ${flags} | head -n 1`
      expect(lab.must('timeout', '30', 'sh', '-c', line).split('\n')).toHaveLength(2)
    }
    expect(lab.processes()).toEqual([])
  })

  test('doctor breaks its sentences between words, and its commands never', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    lab.must('iptables', '-P', 'FORWARD', 'DROP')
    const shown = stripVTControlCharacters(onTerminal(lab, 60, '/opt/cni/bin/pontoon doctor || :'))
    const command = 'iptables -I FORWARD -i br-t -j ACCEPT && iptables -I FORWARD -o br-t -j ACCEPT'
    expect(shown).toContain(`\n  ${command}\n`)
    const sentences = shown.split('\n').filter((line) => !line.includes(command))
    expect(Math.max(...widths(sentences.join('\n')))).toBeLessThanOrEqual(60)
  })

  test('no colours with NO_COLOR, on a dumb terminal, or into a file', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    add(lab, 'a')
    const leases = '/opt/cni/bin/pontoon leases'
    expect(onTerminal(lab, 80, leases)).toContain(`${ESCAPE}[32mlive`)
    for (const line of [`NO_COLOR=1 ${leases}`, `TERM=dumb ${leases}`, `${leases} >/run/out; cat /run/out`]) {
      expect(onTerminal(lab, 80, line)).not.toContain(ESCAPE)
    }
  })

  test('who forgets to give a configuration is told what it waits for', async () => {
    const lab = await openLab(executable)
    const wait = 'timeout --foreground 1 /opt/cni/bin/pontoon'
    expect(onTerminal(lab, 80, `${wait} plan ADD || :`)).toContain('reading a configuration from the terminal')
    expect(onTerminal(lab, 80, `echo {} | ${wait} plan ADD || :`)).not.toContain('terminal')
  })

  test('long work tells on the terminal how far it is, and leaves nothing of that', async () => {
    const lab = await openLab(executable)
    putConf(lab, dualStack())
    for (let i = 0; i < 60; i++) add(lab, `a${i}`, dualStack())
    lab.must('nft', 'flush', 'ruleset')
    // Each program takes 20 ms to start, on the fastest machine too: so it does not end before somebody would look.
    const slow = 'strace -f -qq -o /dev/null -e trace=execve -e inject=execve:delay_exit=20000'
    const shown = onTerminal(lab, 80, `${slow} /opt/cni/bin/pontoon repair >/run/out`)
    expect(shown).toMatch(/t: step \d+ of 120, masquerade (10\.9\.0\.\d+|fd00:9::[0-9a-f]+)/)
    expect(shown.endsWith(`\r${ESCAPE}[K`)).toBe(true)
    const result = readFileSync(`${lab.root}/run/out`, 'utf8')
    expect(result).toMatch(/^t {2}60 living attachments\n/)
    expect(result).not.toMatch(new RegExp(`[\r${ESCAPE}]`))
    expect(lab.run(['/opt/cni/bin/pontoon', 'repair'])).toMatchObject({ status: 0, stderr: '' })
  })
})
