/** What the documents say about a key of the configuration: the form of the table in keys.ts. */

/** A JSON Schema of a value without parts of its own. */
export interface Leaf {
  readonly type?: 'string' | 'boolean' | 'integer'
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly enum?: readonly unknown[]
  /** Another form that is taken, too. */
  readonly anyOf?: readonly Leaf[]
}

export interface ObjectShape {
  readonly keys: Keys
  /** An object that stands in several places has a name, and is described once. */
  readonly name?: string
}

export interface ListShape {
  readonly items: Shape
}

export type Shape = { readonly leaf: Leaf; readonly words: string } | ObjectShape | ListShape

/** Who gave the key its meaning, and with which version. */
export type Origin =
  | { readonly specification: string }
  | { readonly convention: string }
  | { readonly reference: 'bridge' | 'host-local' }
  | { readonly libcni: string }
  /** Pontoon's own. */
  | { readonly own: true }

export interface Key {
  readonly shape: Shape
  /** What stands for the key when it is absent. Left out where there is nothing. */
  readonly default?: unknown
  /** Added to the default, or in place of one, in words. */
  readonly whenAbsent?: string
  readonly isRequired?: true
  readonly example: unknown
  readonly origin: Origin
  /** The version of Pontoon that brought it. */
  readonly since: string
  readonly text: string
  /** How it differs from the reference plugins. */
  readonly differs?: string
}

export type Keys = Readonly<Record<string, Key>>

export const flag: Shape = { leaf: { type: 'boolean' }, words: 'true or false' }
export const text: Shape = { leaf: { type: 'string' }, words: 'string' }
export const texts: Shape = { items: text }
export const anything: Shape = { leaf: {}, words: 'any' }

export function pattern(regexp: string, words: string): Shape {
  return { leaf: { type: 'string', pattern: regexp }, words }
}

export function oneOf(...values: readonly string[]): Shape {
  return { leaf: { type: 'string', enum: values }, words: values.map((value) => `\`"${value}"\``).join(', ') }
}

/** `unset`: 0 is taken, too, and means that nothing is set. */
export function whole(minimum: number, maximum: number, unset?: 0): Shape {
  const range: Leaf = { type: 'integer', minimum, maximum }
  const words = `whole number, ${minimum} to ${maximum}`
  if (unset === undefined) return { leaf: range, words }
  return { leaf: { anyOf: [range, { enum: [0] }] }, words: `${words}; 0: not set` }
}

/** All keys with their paths, `ipam.ranges[][].subnet`, in order. A named object's parts are told once for each place. */
export function flatten(keys: Keys, front = ''): readonly (readonly [path: string, key: Key])[] {
  return Object.entries(keys).flatMap(([name, key]) => {
    const path = front + name
    const [shape, suffix] = innermost(key.shape)
    return [[path, key] as const, ...('keys' in shape ? flatten(shape.keys, `${path}${suffix}.`) : [])]
  })
}

/** What a list is of, whatever its depth, and the brackets that say so. */
export function innermost(shape: Shape): readonly [shape: Exclude<Shape, ListShape>, suffix: string] {
  if (!('items' in shape)) return [shape, '']
  const [inner, suffix] = innermost(shape.items)
  return [inner, `[]${suffix}`]
}
