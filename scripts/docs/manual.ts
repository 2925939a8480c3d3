/** docs/pontoon.8, from what the commands say of themselves. */
import { type CommandInfo, catalog } from '../../src/commands/catalog.ts'

const FRONT = `.\\" Made from the registry of commands by "npm run docs".
.TH PONTOON 8 "" "Pontoon" "System administration"
.SH NAME
pontoon \\- container networks: the CNI plugin, and its tools
.SH SYNOPSIS
.B pontoon
.I command
.RI [ options ]
.SH DESCRIPTION
Container runtimes call
.B pontoon
with CNI_COMMAND in the environment and a configuration on stdin: then it is a CNI plugin, which does the work of the
reference plugins
.I bridge
and
.IR host-local .
Called with a command, it is the operator's tool.
.SH COMMANDS
`

const BACK = `.SH EXIT STATUS
.TP
.B 0
Done, and nothing is amiss.
.TP
.B 1
It failed, or it found what it looks for.
.TP
.B 2
The words were not understood.
.SH ENVIRONMENT
.TP
.B COLUMNS
How wide the terminal is, where it is not to be asked for that.
.TP
.BR LC_ALL ", " LC_CTYPE ", " LANG
The first of them that is set names the locale; where it is not UTF\\-8, texts are in ASCII. JSON and pictures never are.
.TP
.B NO_COLOR
Set to anything: no colours, on a terminal neither. The same for
.B TERM
set to dumb.
.TP
.B PONTOON_LOG
In the environment of the container runtime: a file to which each call of the plugin appends a line of JSON, or
.BR journal ,
systemd's. It comes before
.I log
in the configuration.
.TP
.B TRACEPARENT
Is noted in that line.
.TP
.B PONTOON_TRACE
1: each call of the plugin tells on stderr where its time goes.
.SH FILES
.TP
.I /etc/cni/net.d
Configurations of networks.
.TP
.I /var/lib/cni/networks
Reservations of addresses, one file for each.
.TP
.I /run/pontoon
The index of attachments.
.SH SEE ALSO
.BR ip (8),
.BR nft (8),
.BR bridge (8)
`

export function manual(): string {
  return FRONT + catalog().map(section).join('') + BACK
}

function section({ name, description, flags, words, examples }: CommandInfo): string {
  const operands = words.map(({ placeholder, isOptional }) => (isOptional ? `[${placeholder}]` : placeholder))
  return [
    `.SS "pontoon ${[name, ...operands].map(escaped).join(' ')}"`,
    ...description.split('\n\n').flatMap((paragraph, i) => [...(i > 0 ? ['.PP'] : []), text(paragraph)]),
    ...flags.flatMap(({ name: flag, placeholder, brief, default: preset }) => [
      '.TP',
      placeholder === '' ? `.B ${escaped(flag)}` : `.BI "${escaped(flag)} " ${escaped(placeholder)}`,
      text(preset === '' ? brief : `${brief} (default ${preset})`),
    ]),
    ...(examples.length > 0 ? ['.PP', '.EX', ...examples.map(text), '.EE'] : []),
    '',
  ].join('\n')
}

/** A line that begins with a dot or a quote would be a request. */
function text(words: string): string {
  return escaped(words).replace(/^[.']/gm, '\\&$&')
}

function escaped(words: string): string {
  return words.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('…', '...').replaceAll('’', "'")
}
