/** Holds a tool up in the middle of a call, so that others can come between. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lab } from './lab.ts'

/** Each waits, when it comes to such a line for the first time, until it is let go. `ip` is talked with, line by line. */
const WRAPPERS = {
  nft: (line: string) => `[ "$*" = "-f -" ] || exec /run/real-nft "$@"
    script=$(cat)
    case $script in *"${line}"*) wait_for_it ;; esac
    printf '%s\\n' "$script" | /run/real-nft -f -`,
  ip: (line: string) => `case $* in *-batch*) ;; *) exec /run/real-ip "$@" ;; esac
    while IFS= read -r line; do
      case $line in "${line}"*) wait_for_it ;; esac
      printf '%s\\n' "$line"
    done | /run/real-ip "$@"`,
}
const WAIT =
  'wait_for_it() { if mv /run/hold /run/held 2>/dev/null; then while [ -e /run/held ]; do sleep 0.01; done; fi; }'

/** @returns what resolves, when it waits, to the function that lets it go */
export function holdUp(lab: Lab, tool: 'nft' | 'ip', line: string): () => Promise<() => void> {
  writeFileSync(`${lab.root}/run/${tool}`, `#!/bin/sh\n${WAIT}\n${WRAPPERS[tool](line)}`, { mode: 0o755 })
  writeFileSync(`${lab.root}/run/hold`, '')
  lab.must(
    'sh',
    '-ec',
    `real=$(readlink -f "$(command -v ${tool})"); cp "$real" /run/real-${tool}; mount --bind /run/${tool} "$real"`,
  )
  return async () => {
    for (let tries = 0; !existsSync(`${lab.root}/run/held`); tries++) {
      if (tries > 1000) throw new Error(`no ${tool} waits`)
      await sleep(10)
    }
    return () => rmSync(`${lab.root}/run/held`)
  }
}
