/**
 * The commands, in the order in which help lists them. Each entry says how it is called; what it does is in the file
 * that `load` names, which is read only when the command is run.
 */
import { command } from './command.ts'
import type { InstallFlags } from './install.ts'
import { completion, NODE_COMMANDS } from './registry-node.ts'
import type { UninstallFlags } from './uninstall.ts'

const FOLDER = '/opt/cni/bin'
const CONF_FOLDER = '/etc/cni/net.d'

/** @throws what Stricli tells as a wrong use */
function parseSeconds(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new SyntaxError(`${text} is not a number of seconds`)
}

const install = command<InstallFlags>({
  brief: 'Put this executable where container runtimes look for plugins',
  description: `Copies this executable to the folder of plugins, in one step: an ADD that runs meanwhile is not disturbed, and
none ever meets half a file. Says what it did; done again, it changes nothing.

With --as it is found by the names of the plugins that it stands in for, too. What was there is kept beside it as
NAME.before-pontoon; --undo puts it back, and leaves the executable and the network as they are.

With --conflist a network is written to ${CONF_FOLDER}, never over another one unless --force is given. Runtimes take
the first file by name: a warning tells when that is another. Then the plugins are asked whether they could serve it;
status 1 when one could not. A network that could never be served is not written. A file named *.template is for a
runtime that fills it in (containerd's conf_template), and written as it is.`,
  examples: [
    'pontoon install',
    'pontoon install --as bridge,host-local',
    'pontoon install --conflist 10-pods.conflist',
    'pontoon install --conflist 10-pods.conflist --from network.conflist --force',
    'pontoon install --as bridge,host-local --every 60',
    'pontoon install --undo',
  ],
  parameters: {
    flags: {
      dir: { kind: 'parsed', parse: String, brief: 'The folder of plugins', placeholder: 'folder', default: FOLDER },
      as: {
        kind: 'enum',
        values: ['bridge', 'host-local'],
        brief: 'Names to be found by as well',
        placeholder: 'names',
        variadic: ',',
        optional: true,
      },
      conflist: {
        kind: 'parsed',
        parse: String,
        brief: `Write a network to this file, in ${CONF_FOLDER} unless it is a path`,
        placeholder: 'file',
        optional: true,
      },
      from: {
        kind: 'parsed',
        parse: String,
        brief: 'The network to write, in place of a plain one',
        placeholder: 'file',
        optional: true,
      },
      verify: { kind: 'boolean', brief: 'Ask the plugins of the network for their STATUS', default: true },
      every: {
        kind: 'parsed',
        parse: parseSeconds,
        brief: 'Stay, look every so many seconds, and do again what was undone',
        placeholder: 'seconds',
        optional: true,
      },
      force: { kind: 'boolean', brief: 'Write over a file that exists', withNegated: false, optional: true },
      undo: { kind: 'boolean', brief: 'Put back what was there before', withNegated: false, optional: true },
    },
  },
  load: () => import('./install.ts'),
})

const uninstall = command<UninstallFlags>({
  brief: 'Remove what install made, and nothing else',
  description: `Removes the executable, its other names and the network that "pontoon install" made, and puts back what was there
before. What somebody changed since is left alone. Running pods keep their network.`,
  examples: ['pontoon uninstall', 'pontoon uninstall --dir /usr/lib/cni'],
  parameters: {
    flags: {
      dir: { kind: 'parsed', parse: String, brief: 'The folder of plugins', placeholder: 'folder', default: FOLDER },
    },
  },
  load: () => import('./uninstall.ts'),
})

export const COMMANDS = { ...NODE_COMMANDS, install, uninstall, completion }
