/** Asks the installed plugins what they say of a network: STATUS, as a runtime does. */
import * as engine from '#engine'
import type { JsonObject } from '../../cni/conform.ts'
import { CODE } from '../../core/fault.ts'
import { statIfThere } from '../../host/files.ts'
import { TOOL_ENV } from '../../host/tools.ts'

const DEADLINE = 20_000
const OURS = ['pontoon', 'bridge', 'host-local']

export interface Finding {
  readonly plugin: string
  /** undefined: all is well. */
  readonly problem?: string
  /** The configuration itself is wrong: it would never work. */
  readonly isInvalid: boolean
}

export async function verify(
  folder: string,
  name: string,
  plugins: readonly JsonObject[],
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const plugin of plugins) {
    const type = String(plugin.type)
    if (!statIfThere(`${folder}/${type}`)) {
      findings.push({ plugin: type, problem: `${folder}/${type} is missing`, isInvalid: false })
    } else if (OURS.includes(type)) findings.push(await ask(folder, type, { ...plugin, cniVersion: '1.1.0', name }))
  }
  return findings
}

async function ask(folder: string, type: string, netconf: JsonObject): Promise<Finding> {
  const env = { ...TOOL_ENV, CNI_COMMAND: 'STATUS', CNI_PATH: folder }
  const child = engine.spawn({ argv: [`${folder}/${type}`], env, deadline: DEADLINE })
  child.write(JSON.stringify(netconf))
  child.end()
  const { status, stdout, stderr } = await child.exit
  if (status === 0) return { plugin: type, isInvalid: false }
  const { code, msg, details } = parse(stdout)
  const problem = [msg, details].filter((text) => text !== undefined && text !== '').join(': ')
  return {
    plugin: type,
    problem: problem || stderr.trim() || `ended with status ${status}`,
    isInvalid: isInvalid(code),
  }
}

function parse(stdout: string): { readonly code?: number; readonly msg?: string; readonly details?: string } {
  try {
    return JSON.parse(stdout)
  } catch {
    return {} // it was not an answer
  }
}

function isInvalid(code: number | undefined): boolean {
  const fatal: readonly number[] = [CODE.incompatibleVersion, CODE.unsupportedField, CODE.decode, CODE.invalidConfig]
  return code !== undefined && fatal.includes(code)
}
