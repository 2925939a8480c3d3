import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { manual } from '../../scripts/docs/manual.ts'
import { catalog } from '../../src/commands/catalog.ts'
import { scriptFor } from '../../src/commands/completion/scripts.ts'

/** What bash offers for these words, the last of which is being typed. */
function offered(...words: readonly string[]): readonly string[] {
  const script = `
pontoon() { printf 'pods\\nstorage\\n'; }
${scriptFor('bash', catalog())}
COMP_WORDS=(pontoon "$@"); COMP_CWORD=$#; _pontoon; printf '%s\\n' "\${COMPREPLY[@]}"`
  const out = execFileSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8', cwd: '/' })
  return out.split('\n').filter((word) => word !== '')
}

test.each<{ typed: string[]; want: string[] }>([
  { typed: ['to'], want: ['topology'] },
  { typed: ['leases', '--'], want: ['--help', '--conf-dir', '--json', '--watch'] },
  { typed: ['leases', 'p'], want: ['pods'] },
  { typed: ['topology', '--format', 'm'], want: ['mermaid'] },
  { typed: ['plan', 'A'], want: ['ADD'] },
  { typed: ['leases', '--conf-dir', '/et'], want: ['/etc'] },
  { typed: ['help', 'doc'], want: ['doctor'] },
  { typed: ['doctor', '/et'], want: ['/etc'] },
  { typed: ['doctor', 'po'], want: ['pods'] },
])('bash: $typed', ({ typed, want }) => {
  expect(offered(...typed)).toEqual(want)
})

const hasShell = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0

test.skipIf(!hasShell('zsh'))('zsh: the script can be sourced, as its help says', () => {
  const script = `autoload -U compinit; compinit -D -u; source <(cat); print $_comps[pontoon]`
  const { stdout, stderr } = spawnSync('zsh', ['-fc', script], {
    input: scriptFor('zsh', catalog()),
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: '/nonexistent' },
  })
  expect({ stdout, stderr }).toEqual({ stdout: '_pontoon\n', stderr: '' })
})

test.skipIf(!hasShell('fish')).each<{ typed: string; want: string[] }>([
  { typed: 'pontoon he', want: ['help'] },
  { typed: 'pontoon help le', want: ['leases'] },
  { typed: 'pontoon leases p', want: ['pods'] },
  { typed: 'pontoon doctor pod', want: ['pods'] },
  { typed: 'pontoon leases --he', want: ['--help'] },
  { typed: 'pontoon topology --format m', want: ['mermaid'] },
])('fish: $typed', ({ typed, want }) => {
  const script = `function pontoon; echo pods; end; cat | source; complete -C '${typed}'`
  const out = execFileSync('fish', ['--no-config', '-c', script], {
    input: scriptFor('fish', catalog()),
    encoding: 'utf8',
    cwd: '/',
    env: { PATH: process.env.PATH, HOME: '/nonexistent', LC_ALL: 'C.UTF-8' },
  })
  expect(out.split('\n').flatMap((line) => line.split('\t')[0] || [])).toEqual(want)
})

test('every command and flag is in all scripts', () => {
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const script = scriptFor(shell, catalog())
    for (const { name, flags } of catalog()) {
      expect(script).toContain(name)
      for (const flag of flags) expect(script).toContain(flag.name.slice(2))
    }
  }
})

test('every command says what it does, how it is called, and gives examples', () => {
  for (const { name, brief, description, examples } of catalog()) {
    expect(brief, name).toMatch(/^[A-Z][^\n]{10,75}$/)
    expect(description, name).toMatch(/\.$/)
    expect(
      examples.every((line) => line.includes('pontoon')),
      name,
    ).toBe(true)
  }
})

test('the manual is the one that is committed: else run `npm run docs`', () => {
  expect(readFileSync(new URL('../../docs/pontoon.8', import.meta.url), 'utf8')).toBe(manual())
})
