/** An object with known keys. Other than valibot's own, it does not take a list for an object without keys. */
import * as v from 'valibot'

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
