/** An engine with real files in a temporary folder, and programs that follow a script; tools are where the script says. */
import { orAbsent } from './absent.ts'
import { engine as real } from './relocated.ts'
import { engine as scripted } from './scripted.ts'

const stat: typeof real.stat = (path) => (/^\/(usr|proc)\//.test(path) ? scripted.stat(path) : real.stat(path))

export const engine = { ...real, spawn: scripted.spawn, sleep: scripted.sleep, stat, statIfThere: orAbsent(stat) }
