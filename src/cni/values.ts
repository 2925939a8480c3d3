/**
 * The building stones of the schemas: each is made once and used in many places. Schemas are made when their module is
 * loaded, which the start image has behind it.
 */
import * as v from 'valibot'

export const opt = v.exactOptional

export const text = v.string('a string')
export const texts = v.array(text, 'a list of strings')
export const optText = opt(text)
export const optTexts = opt(texts)
export const optFlag = opt(v.boolean('true or false'))

/** `unset`: 0 is taken, too, and means that nothing is set. */
export function whole(least: number, most: number, unset?: 0) {
  const message = `a whole number from ${least} to ${most}${unset === 0 ? ', or 0' : ''}`
  const fits = (value: unknown) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most
  return v.custom<number>((value) => fits(value) || value === unset, message)
}

export const optUnsigned = opt(whole(0, 0xffff_ffff))

/** An object with known keys. Other than valibot's own, it does not take a list for an object without keys. */
export function keyed<E extends v.ObjectEntries>(entries: E, expected = 'an object'): v.ObjectSchema<E, string> {
  const schema = v.object(entries, expected)
  const run = schema['~run']
  const refuseList: typeof run = (dataset, config) => {
    if (!Array.isArray(dataset.value)) return run.call(schema, dataset, config)
    v._addIssue(schema, 'type', dataset, config)
    return dataset as unknown as ReturnType<typeof run>
  }
  return Object.assign(schema, { '~run': refuseList })
}

/**
 * A list that may have thousands of elements. Where each is right as it is, none is held against its schema, which
 * takes fifty times as long; `conform` knows that by `isRight`, too.
 */
export function longList<S extends v.GenericSchema>(item: S, expected: string, isRight: (value: unknown) => boolean) {
  const schema = v.array(item, expected)
  const run = schema['~run']
  const accept: typeof run = (dataset, config) => {
    if (!Array.isArray(dataset.value) || !dataset.value.every(isRight)) return run.call(schema, dataset, config)
    return Object.assign(dataset, { typed: true }) as unknown as ReturnType<typeof run>
  }
  return Object.assign(schema, { '~run': accept, isRight })
}

/** Makes the value when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
