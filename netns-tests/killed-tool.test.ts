/** An `ip` that is killed in the middle of what it was told, as the kernel does it that is out of memory. */
import { rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { leftovers, marksOf, store } from './observe.ts'
import { add, callPlugin, conf, expectFault } from './plugin.ts'

/** While /run/armed is there, `ip` does what it is told until a batch comes to its nth `link del`, and dies then. */
function killAtDeletion(lab: Lab, n: number): void {
  const script = `#!/bin/bash
    [ -e /run/armed ] || exec /run/real-ip "$@"
    exec 5> >(exec /run/real-ip "$@"); ip=$!; count=0
    end() { exec 5>&-; while kill -0 $ip 2>/dev/null; do sleep 0.01; done; }
    while IFS= read -r line; do
      case $line in 'link del'*) [ $((count += 1)) -lt ${n} ] || { end; kill -9 $$; } ;; esac
      printf '%s\\n' "$line" >&5
    done
    end`
  writeFileSync(`${lab.root}/run/ip`, script, { mode: 0o755 })
  writeFileSync(`${lab.root}/run/armed`, '')
  lab.must('sh', '-ec', 'ip=$(readlink -f "$(command -v ip)"); cp "$ip" /run/real-ip; mount --bind /run/ip "$ip"')
}

/** Whose interfaces live, by their labels. */
const living = (lab: Lab): string[] => lab.ip('-j link show type veth').map((link: Json) => link.ifalias.split('/')[1])
const gc = { conf: { ...conf(), 'cni.dev/valid-attachments': [] } }

forEachExecutable((executable) => {
  test.each([
    { verb: 'DEL', pods: ['a'], gone: 0 },
    { verb: 'GC', pods: ['a', 'b', 'c', 'd', 'e'], gone: 2 },
  ])(
    'in $verb: whose interface lives keeps its address, it is to be tried again, and then all is removed',
    async (row) => {
      const lab = await openLab(executable)
      const all = row.pods.map((name) => add(lab, name))
      const call = row.verb === 'GC' ? gc : { id: 'pod-a', netns: 'a' }
      killAtDeletion(lab, row.gone + 1)
      expectFault(callPlugin(lab, row.verb, call), { code: 11, about: /killed/ })
      const left = living(lab)
      expect(left).toHaveLength(row.pods.length - row.gone)
      expect(Object.values(store(lab)).sort()).toEqual(left.map((id) => `${id}\r\neth0`).sort())
      rmSync(`${lab.root}/run/armed`)
      expect(callPlugin(lab, row.verb, call)).toMatchObject({ status: 0 })
      expect(leftovers(lab, ...marksOf(...all))).toEqual([])
    },
  )
})
