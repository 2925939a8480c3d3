/** conf/systemd/pontoon-repair.service: what its lines run. The firewall's word comes from a stub of busctl. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { putConf } from './commands.ts'
import { forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { add, check, conf } from './plugin.ts'

const unit = readFileSync(join(import.meta.dirname, '../conf/systemd/pontoon-repair.service'), 'utf8')
const commandOf = (key: string): string => new RegExp(`^${key}=-?(.*)$`, 'm').exec(unit)?.[1] ?? ''

/** The bus: it prints what it was asked for and, when `reloads` says so, a signal; then it ends. */
function putBus(lab: Lab, reloads: number): void {
  mkdirSync(`${lab.root}/run/bus`, { recursive: true })
  const text = `#!/bin/sh\necho "$*" >>/run/asked\nfor i in $(seq ${reloads}); do echo '{"type":"signal"}'; done\n`
  writeFileSync(`${lab.root}/run/bus/busctl`, text, { mode: 0o755 })
}

forEachExecutable((executable) => {
  test('at its start, at a reload and at each word of the firewall the rules of living pods come back', async () => {
    const lab = await openLab(executable)
    putConf(lab, conf())
    const one = add(lab, 'a')
    const run = (key: string) => lab.run(['sh', '-c', commandOf(key)], { env: { PATH: '/run/bus:/usr/bin:/bin' } })
    for (const key of ['ExecStartPre', 'ExecReload']) {
      lab.must('nft', 'flush', 'ruleset')
      expect(check(lab, one).status).toBe(1)
      expect(run(key)).toMatchObject({ status: 0 })
      expect(check(lab, one), key).toMatchObject({ status: 0 })
    }
    lab.must('nft', 'flush', 'ruleset')
    putBus(lab, 0)
    expect(run('ExecStart')).toMatchObject({ status: 0 })
    expect(check(lab, one).status).toBe(1)
    putBus(lab, 1)
    expect(run('ExecStart')).toMatchObject({ status: 0 })
    expect(check(lab, one)).toMatchObject({ status: 0 })
    expect(lab.must('cat', '/run/asked')).toContain('interface=org.fedoraproject.FirewallD1,member=Reloaded')
  })
})
