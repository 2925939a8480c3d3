/**
 * Holds a JSON value against a schema as Go's decoder would: keys without regard to case, `null` for absent.
 *
 * The schema is the only list of known keys: the walk over it that renames keys and the check read the same entries.
 */
import * as v from 'valibot'
import { CODE, Fault } from '../core/fault.ts'

type Schema = v.GenericSchema<unknown, unknown>

/** The parts of a valibot schema that the walk needs. */
interface Node {
  readonly type: string
  readonly entries?: Readonly<Record<string, Node>>
  readonly item?: Node
  readonly wrapped?: Node
  readonly isRight?: (value: unknown) => boolean
}

export type JsonObject = Readonly<Record<string, unknown>>
type Path = readonly (string | number)[]

export interface ConformOptions {
  /** What the value belongs to, for the message: `network "a"`. */
  readonly of: string
  /** The path of the value itself, put before the path of a fault: `ipam`. */
  readonly at?: string
  /** Whether a wrong value at this path (`ipam.dataDir`) counts as absent. Default: never. */
  readonly tolerate?: (path: string) => boolean
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a key without regard to case; an exact match comes first, then the last one; `null` is absent. */
export function memberOf(object: JsonObject, key: string): unknown {
  const names = Object.keys(object).filter((name) => name !== key && isSameKey(name, key))
  if (Object.hasOwn(object, key)) names.push(key)
  return names.map((name) => object[name]).findLast((value) => value !== null)
}

/**
 * The value as the schema describes it. Unknown keys are dropped.
 * @throws Fault code 7 that names every wrong key, what is expected there and what was found
 */
export function conform<S extends Schema>(schema: S, value: JsonObject, options: ConformOptions): v.InferOutput<S> {
  const draft = canonical(schema as unknown as Node, value)
  for (;;) {
    const outcome = v.safeParse(schema, draft)
    if (outcome.success) return outcome.output
    const wrong = outcome.issues.map((issue) => ({ path: pathOf(issue), issue }))
    const refused = wrong.filter(({ path }) => !options.tolerate?.(pathText(path, options.at)))
    if (refused.length > 0) throw refusal(refused, options)
    removeAll(
      draft,
      wrong.map(({ path }) => path),
    )
  }
}

/** A copy with the schema's own spelling of the known keys, without unknown ones, `null` and empty strings. */
function canonical(node: Node, value: unknown): unknown {
  const { entries, item, isRight } = node.wrapped ?? node
  if (item && Array.isArray(value)) {
    return isRight && value.every(isRight) ? [...value] : value.map((element) => canonical(item, element))
  }
  if (!entries || !isObject(value)) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const entry = value[key]
    const known = entry === null ? undefined : knownKey(entries, key)
    if (known === undefined || isOverridden(value, key, known)) continue
    const child = entries[known] as Node
    const isUnset = entry === '' && (child.wrapped ?? child).type === 'string'
    if (!isUnset) copy[known] = canonical(child, entry)
  }
  return copy
}

function knownKey(entries: Readonly<Record<string, Node>>, key: string): string | undefined {
  return Object.hasOwn(entries, key) ? key : Object.keys(entries).find((name) => isSameKey(name, key))
}

/** Whether the same key is there in its exact spelling, too. */
function isOverridden(value: JsonObject, key: string, known: string): boolean {
  return key !== known && Object.hasOwn(value, known) && value[known] !== null
}

function pathOf(issue: v.BaseIssue<unknown>): Path {
  return (issue.path ?? []).map((item) => item.key as string | number)
}

function pathText(path: Path, at = ''): string {
  let text = at
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`
    else text += text === '' ? key : `.${key}`
  }
  return text
}

interface Wrong {
  readonly path: Path
  readonly issue: v.BaseIssue<unknown>
}

function refusal(wrong: readonly Wrong[], { of, at }: ConformOptions): Fault {
  const [first, ...more] = wrong.map(({ path, issue }) => {
    const key = pathText(path, at)
    return issue.input === undefined
      ? `${key} is missing`
      : `${key}: expected ${issue.message}, found ${show(issue.input)}`
  })
  const details = more.length > 0 ? `also: ${more.join('; ')}` : 'correct this key in the network configuration'
  return new Fault(CODE.invalidConfig, `${of}: ${first}`, details)
}

function isSameKey(left: string, right: string): boolean {
  return left.length === right.length && left.toLowerCase() === right.toLowerCase()
}

/** The value as JSON, cut to a length that fits a message. */
export function show(value: unknown): string {
  let text: string
  try {
    text = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : JSON.stringify(value)
  } catch {
    text = Array.isArray(value) ? 'a list' : 'an object' // too deep to print
  }
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

/** Takes wrong values out of the draft; where a key is missing, the object that lacks it. */
function removeAll(draft: unknown, paths: readonly Path[]): void {
  const lists = new Set<unknown[]>()
  for (const path of paths) {
    const target = holds(draft, path) ? path : path.slice(0, -1)
    const key = target.at(-1)
    const parent = target.slice(0, -1).reduce(step, draft)
    if (Array.isArray(parent)) {
      parent[key as number] = undefined
      lists.add(parent)
    } else if (isObject(parent)) {
      delete (parent as Record<string, unknown>)[key as string]
    }
  }
  // Only now, so that the indices in the paths stay true while they are used.
  for (const list of lists) list.splice(0, list.length, ...list.filter((element) => element !== undefined))
}

function holds(draft: unknown, path: Path): boolean {
  return path.reduce(step, draft) !== undefined
}

function step(value: unknown, key: string | number): unknown {
  return (value as Record<string | number, unknown> | undefined)?.[key]
}
