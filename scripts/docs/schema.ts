/** conf/pontoon.schema.json: the JSON Schema by which editors complete and check a configuration. */
import { flatten, innermost, type Key, type Keys, type Shape } from './key.ts'
import { LIBCNI_KEYS, LIST_KEYS, PLUGIN_KEYS } from './keys.ts'

type JsonSchema = Readonly<Record<string, unknown>>

export function schemaOf(): JsonSchema {
  const plugin = objectOf({ ...PLUGIN_KEYS, ...LIBCNI_KEYS })
  const { properties, required } = objectOf(LIST_KEYS) as { properties: object; required: readonly string[] }
  const ours = { properties: { type: { enum: ['pontoon', 'bridge'] } } }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Pontoon network configuration',
    description: 'A list of plugins (.conflist), or the configuration of Pontoon alone (.conf).',
    type: 'object',
    if: { required: ['plugins'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { $ref: '#/$defs/list' },
    else: { $ref: '#/$defs/single' },
    $defs: {
      list: {
        type: 'object',
        properties: {
          ...properties,
          plugins: {
            type: 'array',
            minItems: 1,
            description: 'The plugins in the order in which they run. Pontoon comes first.',
            // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
            items: { type: 'object', required: ['type'], if: ours, then: { $ref: '#/$defs/plugin' } },
          },
        },
        required: [...required, 'plugins'],
      },
      single: { allOf: [{ $ref: '#/$defs/plugin' }, { type: 'object', properties, required }] },
      plugin: withForeignIpam(plugin),
      ...Object.fromEntries(namedObjects().map(([name, keys]) => [name, objectOf(keys)])),
    },
  }
}

/** The keys of another IPAM plugin are its own. */
function withForeignIpam(plugin: JsonSchema): JsonSchema {
  const { ipam, ...properties } = plugin.properties as Record<string, JsonSchema>
  const { description, ...own } = ipam as JsonSchema
  const isForeign = { properties: { type: { not: { enum: ['host-local', 'pontoon'] } } }, required: ['type'] }
  return {
    ...plugin,
    properties: { ...properties, ipam: { description, type: 'object', if: isForeign, else: own } },
  }
}

function objectOf(keys: Keys): JsonSchema {
  const required = Object.entries(keys).flatMap(([name, { isRequired }]) => (isRequired ? [name] : []))
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, propertyOf(key)])),
    ...(required.length > 0 ? { required } : {}),
  }
}

function propertyOf({ shape, default: value, text, example }: Key): JsonSchema {
  return {
    ...shapeOf(shape),
    description: text.replaceAll('`', ''),
    ...(value === undefined ? {} : { default: value }),
    examples: [example],
  }
}

/** A value's schema; objects with a name are referred to. */
export function shapeOf(shape: Shape): JsonSchema {
  if ('items' in shape) return { type: 'array', items: shapeOf(shape.items) }
  if ('leaf' in shape) return shape.leaf as JsonSchema
  return shape.name === undefined ? objectOf(shape.keys) : { $ref: `#/$defs/${shape.name}` }
}

/** Each object that stands in several places, once. */
export function namedObjects(): readonly (readonly [name: string, keys: Keys])[] {
  const found = new Map<string, Keys>()
  for (const [, { shape }] of flatten(PLUGIN_KEYS)) {
    const [inner] = innermost(shape)
    if ('keys' in inner && inner.name !== undefined) found.set(inner.name, inner.keys)
  }
  return [...found]
}
