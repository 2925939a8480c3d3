/** Scripts by which shells complete the words of a command line. Pure. */
import type { CommandInfo } from '../catalog.ts'
import type { FlagInfo } from '../words.ts'

export type Shell = 'bash' | 'zsh' | 'fish'

export function scriptFor(shell: Shell, commands: readonly CommandInfo[]): string {
  return { bash, zsh, fish }[shell](commands)
}

/** The words that a position takes; networks are asked of the executable, files of the shell. */
const WORDS: Readonly<Record<string, string>> = { verb: 'ADD DEL GC', shell: 'bash zsh fish' }
const NETWORKS = 'pontoon completion networks 2>/dev/null'

function valuesOf({ values, placeholder }: FlagInfo): string {
  if (values.length > 0) return values.join(' ')
  if (placeholder === 'folder') return '@folder'
  return ['file', 'path'].includes(placeholder) ? '@file' : '@none'
}

const isFile = (command: CommandInfo) => command.words.some(({ placeholder }) => placeholder.startsWith('conflist'))
/** A configuration may be named by its network, too. */
const takesNetwork = (command: CommandInfo) =>
  isFile(command) || command.words.some(({ placeholder }) => placeholder === 'network')
const wordsOf = (command: CommandInfo) => command.words.map(({ placeholder }) => WORDS[placeholder] ?? '').join(' ')

function bash(commands: readonly CommandInfo[]): string {
  const names = [...commands.map(({ name }) => name), 'help'].join(' ')
  const flagged = commands.flatMap((command) =>
    command.flags
      .filter(({ placeholder }) => placeholder !== '')
      .map((flag) => `    ${command.name}:${flag.name}) ${bashValues(valuesOf(flag))} ;;`),
  )
  const cases = commands.map((command) => {
    const flags = ['--help', ...command.flags.map(({ name }) => name)].join(' ')
    const networks = takesNetwork(command) ? ` $(${NETWORKS})` : ''
    const files = isFile(command) ? '; COMPREPLY+=($(compgen -f -- "$word"))' : ''
    const words = [flags, wordsOf(command)].join(' ').trim()
    return `    ${command.name}) COMPREPLY=($(compgen -W "${words}${networks}" -- "$word"))${files} ;;`
  })
  return `# pontoon completion bash >/usr/share/bash-completion/completions/pontoon
_pontoon() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "$before" = help ]; }; then
    COMPREPLY=($(compgen -W "${names}" -- "$word"))
    return
  fi
  case \${COMP_WORDS[1]}:$before in
${flagged.map((line) => line.replace(' ;;', '; return ;;')).join('\n')}
  esac
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
}
complete -F _pontoon pontoon`
}

function bashValues(values: string): string {
  if (values === '@folder') return 'COMPREPLY=($(compgen -d -- "$word"))'
  if (values === '@file') return 'COMPREPLY=($(compgen -f -- "$word"))'
  return values === '@none' ? ':' : `COMPREPLY=($(compgen -W "${values}" -- "$word"))`
}

function zsh(commands: readonly CommandInfo[]): string {
  const quoted = (text: string) => text.replace(/'/g, "'\\''").replace(/[[\]:]/g, '\\$&')
  const actions: Readonly<Record<string, string>> = { '@folder': '_files -/', '@file': '_files', '@none': ' ' }
  const cases = commands.map((command) => {
    const flags = command.flags.map((flag) => {
      const values = valuesOf(flag)
      const takes = flag.placeholder === '' ? '' : `:${quoted(flag.placeholder)}:${actions[values] ?? `(${values})`}`
      return `'${flag.name}[${quoted(flag.brief)}]${takes}'`
    })
    const words = command.words.map(({ placeholder, brief }) => {
      const networks = `($(${NETWORKS}))`
      const files = `{_files; compadd -- ${networks.slice(1, -1)}}`
      const action = WORDS[placeholder] ? `(${WORDS[placeholder]})` : files
      return `'*:${quoted(brief)}:${placeholder === 'network' ? networks : action}'`
    })
    return `    ${command.name}) _arguments ${["'--help[Print help]'", ...flags, ...words].join(' ')} ;;`
  })
  const list = commands.map(({ name, brief }) => `'${name}:${quoted(brief)}'`).join(' ')
  const names = commands.map(({ name }) => name).join(' ')
  return `#compdef pontoon
# pontoon completion zsh >/usr/share/zsh/site-functions/_pontoon
_pontoon() {
  if ((CURRENT == 2)); then
    local -a commands=(${list})
    commands+=('help:What a command does, and its flags')
    _describe command commands
    return
  fi
  if ((CURRENT == 3)) && [[ $words[2] == help ]]; then
    compadd -- ${names}
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
${cases.join('\n')}
  esac
}
# In its own file zsh calls it; sourced, it is only made known.
if [[ $funcstack[1] == _pontoon ]]; then _pontoon "$@"; else compdef _pontoon pontoon; fi`
}

/** After `help` a command's name is no command. */
const RUN = (name: string) => `'__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from help'`

function fish(commands: readonly CommandInfo[]): string {
  const quoted = (text: string) => `'${text.replace(/['\\]/g, '\\$&')}'`
  const lines = commands.flatMap((command) => {
    const on = `complete -c pontoon -n ${RUN(command.name)}`
    const flags = command.flags.map((flag) => {
      const values = valuesOf(flag)
      const action = values === '@folder' ? " -xa '(__fish_complete_directories)'" : values === '@file' ? ' -rF' : ''
      const takes = flag.placeholder === '' ? '' : action || (values === '@none' ? ' -x' : ` -xa ${quoted(values)}`)
      return `${on} -l ${flag.name.slice(2)} -d ${quoted(flag.brief)}${takes}`
    })
    const words = command.words.flatMap(({ placeholder }) => {
      if (placeholder === 'network') return [`${on} -fa '(${NETWORKS})'`]
      return WORDS[placeholder] ? [`${on} -fa ${quoted(WORDS[placeholder])}`] : [`${on} -Fa '(${NETWORKS})'`]
    })
    return [
      `complete -c pontoon -n __fish_use_subcommand -a ${command.name} -d ${quoted(command.brief)}`,
      ...flags,
      ...words,
    ]
  })
  return [
    '# pontoon completion fish >~/.config/fish/completions/pontoon.fish',
    'complete -c pontoon -f',
    "complete -c pontoon -l help -d 'Print help'",
    "complete -c pontoon -n __fish_use_subcommand -a help -d 'What a command does, and its flags'",
    `complete -c pontoon -n '__fish_seen_subcommand_from help' -a ${quoted(commands.map(({ name }) => name).join(' '))}`,
    ...lines,
  ].join('\n')
}
