/** The operator's commands, called in a lab as on a node. */
import { writeFileSync } from 'node:fs'
import type { Done, Json, Lab, RunOptions } from './lab.ts'

/** Writes a network where runtimes look for it. */
export function putConf(lab: Lab, config: Json, file = '10-t.conflist'): void {
  const { cniVersion, name, ...plugin } = config
  const list = JSON.stringify({ cniVersion, name, plugins: [plugin] })
  writeFileSync(`${lab.root}/etc/cni/net.d/${file}`, list)
}

export function tool(lab: Lab, ...words: readonly string[]): Done {
  return toolWith(lab, {}, ...words)
}

export function toolWith(lab: Lab, options: RunOptions, ...words: readonly string[]): Done {
  const done = lab.run(['/opt/cni/bin/pontoon', ...words], options)
  lab.note(`pontoon ${words.join(' ')}: status ${done.status}, ${done.ms} ms\n${done.stdout}${done.stderr}`)
  return done
}

/** What a command prints with `--json`, whatever its status. */
export function toolJson(lab: Lab, ...words: readonly string[]): Json {
  return JSON.parse(tool(lab, ...words, '--json').stdout)
}

/** A container ends: its namespace goes, and a while later, when the kernel comes to it, the host's end. */
export function end(lab: Lab, name: string): void {
  const count = 'ls /sys/class/net | grep -c ^veth'
  const wait = `for i in $(seq 1200); do [ "$(${count})" -lt "$before" ] && exit 0; sleep 0.05; done; exit 1`
  lab.must('sh', '-c', `before=$(${count}); ip netns del ${name}; ${wait}`)
}
