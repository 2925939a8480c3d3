/** scripts/quickstart: it succeeds, leaves nothing, and shows what README.md says it shows. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'

const root = join(import.meta.dirname, '..')
const shown = /^```console\n(A pod called .*?)^```$/ms.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1]

/** The times of ping differ. */
const plain = (text: string) => text.replace(/time \d+ms/g, 'time 0ms').split('\n')

/** What would be there if it had not been private. */
const traces = ['/sys/class/net/cni0', '/run/netns/blue', '/run/blue.result', '/run/pontoon/pods'].filter(
  (path) => !existsSync(path),
)

forEachExecutable(({ path }) => {
  test('quickstart shows what README.md says, and touches nothing of the machine', () => {
    const { status, stdout, stderr } = spawnSync('bash', ['scripts/quickstart', path], {
      cwd: root,
      encoding: 'utf8',
      timeout: 400_000,
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const printed = plain(stdout)
    let at = 0
    const missing = plain(shown ?? 'README.md shows nothing').filter((line) => {
      const found = printed.indexOf(line, at)
      if (found >= 0) at = found + 1
      return found < 0
    })
    expect(missing).toEqual([])
    expect(traces.filter((path) => existsSync(path))).toEqual([])
  })
})
