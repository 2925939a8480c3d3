/** docs/configuration.md: every key, for people. */
import { innermost, type Key, type Keys, type Origin, type Shape } from './key.ts'
import { LIBCNI_KEYS, LIST_KEYS, PLUGIN_KEYS } from './keys.ts'
import { namedObjects } from './schema.ts'

const INTRODUCTION = `# Configuration

<!-- Made by \`npm run docs\` from scripts/docs/keys.ts: change that file, not this one. -->

All keys of the reference plugins \`bridge\` and \`host-local\` mean the same here. Where Pontoon does something in
another way, the key says so. \`conf/pontoon.schema.json\` has the same keys as a JSON Schema for editors.

- Keys are found without regard to case, as the reference finds them: \`RuntimeConfig\` is \`runtimeConfig\`.
- \`null\` stands for an absent key, and so does an empty string.
- Unknown keys are ignored: a key such as \`"//"\` can hold a comment.
- A value of the wrong type or out of its range is refused with code 7, and the message names the key. DEL and GC go on
  as if it were absent: they have to clean up whatever became of the configuration. Only \`bridge\`, \`ipam.dataDir\`
  and, for GC, the lists of attachments must be right, since they say where to clean up and what to spare.
- A key that is new in a version of the specification works in configurations of any \`cniVersion\`; the result has only
  what its version knows.
`

const ENVIRONMENT = `## Environment

What the runtime passes beside the configuration.

| Variable             | Needed by       | Meaning                                                                                                 |
| -------------------- | --------------- | ------------------------------------------------------------------------------------------------------- |
| \`CNI_COMMAND\`        | all             | \`ADD\`, \`DEL\`, \`CHECK\`, \`STATUS\`, \`GC\` or \`VERSION\`. Without it the executable says what it is, and ends |
| \`CNI_CONTAINERID\`    | ADD, DEL, CHECK | A letter or digit, then letters, digits, \`_\`, \`.\`, \`-\`                                                  |
| \`CNI_IFNAME\`         | ADD, DEL, CHECK | The name of the interface in the container                                                              |
| \`CNI_NETNS\`          | ADD, CHECK      | The path of the container's network namespace. DEL works without                                        |
| \`CNI_PATH\`           |                 | Folders with plugins, for another IPAM plugin. The reference demands it, Pontoon does not               |
| \`CNI_ARGS\`           |                 | \`KEY=value\` pairs, split at \`;\` (below)                                                                 |
| \`CNI_NETNS_OVERRIDE\` |                 | \`1\` or \`true\`: CNI_NETNS may be the plugin's own namespace                                              |
| \`PONTOON_LOG\`        |                 | \`journal\` or a path, in place of what \`log\` says; anything else is told on stderr                       |

Keys of \`CNI_ARGS\`: \`IP\` (addresses that are wanted, split at commas), \`MAC\`, \`K8S_POD_NAMESPACE\`, \`K8S_POD_NAME\`
(both for the label of the host's end), \`K8S_POD_UID\`, \`K8S_POD_INFRA_CONTAINER_ID\`, \`IgnoreUnknown\`. Other keys are
refused with code 4 unless \`IgnoreUnknown=1\`. \`CNI_ARGS=IP=…\` works in both roles.
`

export function markdown(): string {
  return [
    INTRODUCTION,
    section('The list', 'Outside of `plugins`.', LIST_KEYS),
    section('The plugin', 'The object in `plugins` whose `type` is `pontoon` or `bridge`.', {
      ...without(PLUGIN_KEYS, 'ipam', 'disableGC'),
      ...LIBCNI_KEYS,
      ipam: PLUGIN_KEYS.ipam as Key,
    }),
    ...namedObjects().map(([name, keys]) => section(titles[name] ?? name, '', keys)),
    ENVIRONMENT,
  ].join('\n')
}

const titles: Readonly<Record<string, string>> = {
  range: 'A range',
  route: 'A route',
  attachment: 'An attachment',
}

function without(keys: Keys, ...names: readonly string[]): Keys {
  return Object.fromEntries(Object.entries(keys).filter(([name]) => !names.includes(name)))
}

function section(title: string, text: string, keys: Keys): string {
  return [`## ${title}\n`, ...(text ? [`${text}\n`] : []), ...blocks(keys)].join('\n')
}

/** Those of an object with a name have a section of their own. */
function blocks(keys: Keys, front = ''): readonly string[] {
  return Object.entries(keys).flatMap(([name, key]) => {
    const path = front + name
    const [inner, suffix] = innermost(key.shape)
    const isToldHere = 'keys' in inner && inner.name === undefined
    return [block(path, key), ...(isToldHere ? blocks(inner.keys, `${path}${suffix}.`) : [])]
  })
}

function block(path: string, key: Key): string {
  const name = path.slice(path.lastIndexOf('.') + 1)
  const facts = [
    `Type: ${typeOf(key.shape)}`,
    key.isRequired ? 'Required' : `Default: ${defaultOf(key)}`,
    `From: ${'own' in key.origin ? '' : `${originOf(key.origin)}; `}Pontoon ${key.since}`,
    `Example: \`"${path.startsWith('cni.dev') ? path : name}": ${JSON.stringify(key.example)}\``,
    ...(key.differs ? [`Other than the reference: ${key.differs}`] : []),
  ]
  return `### \`${path}\`\n\n${key.text}\n\n${facts.map((fact) => `- ${fact}\n`).join('')}`
}

function typeOf(shape: Shape): string {
  if ('items' in shape) return `list, each ${typeOf(shape.items)}`
  if ('leaf' in shape) return shape.words
  if (shape.name === undefined) return 'object'
  const title = titles[shape.name] ?? shape.name
  return `[${title.toLowerCase()}](#${title.toLowerCase().replaceAll(' ', '-')})`
}

function defaultOf({ default: value, whenAbsent }: Key): string {
  if (value === undefined) return whenAbsent ?? 'nothing'
  return `\`${JSON.stringify(value)}\`${whenAbsent ? `, ${whenAbsent}` : ''}`
}

function originOf(origin: Exclude<Origin, { readonly own: true }>): string {
  if ('specification' in origin) return `specification ${origin.specification}`
  if ('convention' in origin) return `the conventions of CNI, ${origin.convention}`
  if ('libcni' in origin) return `libcni, ${origin.libcni}`
  return `the reference \`${origin.reference}\``
}
