/** What is read of the configuration before it is known to be of a supported version. */
import { CODE, Fault } from '../core/fault.ts'
import { isObject, type JsonObject, memberOf, show } from './conform.ts'
import { isIdentifier } from './names.ts'
import { OLDEST_VERSION } from './version.ts'

export interface Head {
  readonly object: JsonObject
  readonly name: string
  readonly cniVersion: string
}

/**
 * The configuration's JSON, with the network's name and the version.
 * @throws Fault code 6 when it is not a JSON object, or name or version is no string; code 7 when the name is missing
 *   or none that a network can have (specification 1.1.0, "Network configuration format")
 */
export function parseHead(text: string): Head {
  const object = parseObject(text)
  const name = stringOf(object, 'name')
  const cniVersion = stringOf(object, 'cniVersion') || OLDEST_VERSION
  if (name === '') {
    throw new Fault(CODE.invalidConfig, 'the network configuration has no name', 'give the network a name: "name"')
  }
  if (!isIdentifier(name)) {
    const remedy = 'a name starts with a letter or digit; letters, digits, underscore, dot and hyphen may follow'
    throw new Fault(CODE.invalidConfig, `network name ${show(name)} contains invalid characters`, remedy)
  }
  return { object, name, cniVersion }
}

function parseObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = text.trim() === '' ? 'stdin is empty' : (error as Error).message
    throw new Fault(CODE.decode, 'the network configuration on stdin is not valid JSON', reason, { cause: error })
  }
  if (value === null) return {}
  if (isObject(value)) return value
  throw new Fault(CODE.decode, 'the network configuration on stdin is not a JSON object', `found ${show(value)}`)
}

function stringOf(object: JsonObject, key: string): string {
  const value = memberOf(object, key) ?? ''
  if (typeof value === 'string') return value
  throw new Fault(CODE.decode, `${key} of the network configuration is not a string`, `found ${show(value)}`)
}
