/** `pontoon plan`: what a call would do, line by line, with what takes it back; or why it would be refused. */
import { isObject, type JsonObject, memberOf } from '../cni/conform.ts'
import { parseRequest, type Request } from '../cni/request.ts'
import { SUPPORTED_VERSIONS } from '../cni/version.ts'
import { CODE, Fault } from '../core/fault.ts'
import { loadIpv6 } from '../core/ip.ts'
import { isDelegated } from '../verbs/call.ts'
import { calledAs } from './networks.ts'
import { paintHere, print, printJson, readInput } from './output.ts'
import { type Planned, planText } from './plan/report.ts'

export type PlanFlags = {
  readonly container?: string
  readonly ifname?: string
  readonly netns?: string
  readonly args?: string
  readonly path?: string
  readonly json?: boolean
}

const STDIN_LIMIT = 1 << 20

export async function run(flags: PlanFlags, verb: 'ADD' | 'DEL' | 'GC'): Promise<number> {
  await loadIpv6()
  let planned: Planned
  try {
    planned = await planOf(requestOf(flags, verb, readInput('a configuration', STDIN_LIMIT)), flags.netns !== undefined)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    planned = { ok: false, verb, code: error.code, msg: error.message, details: error.details }
  }
  if (flags.json) printJson({ version: 1, ...planned })
  else print(planText(planned, paintHere()))
  return planned.ok ? 0 : 1
}

/** Variables that are not given are filled in, as a runtime would have them. */
function requestOf(flags: PlanFlags, verb: string, text: string): Request {
  const container = flags.container ?? 'example'
  const variables: Readonly<Record<string, string>> = {
    CNI_COMMAND: verb,
    CNI_CONTAINERID: container,
    CNI_IFNAME: flags.ifname ?? 'eth0',
    CNI_NETNS: flags.netns ?? `/run/netns/${container}`,
    CNI_ARGS: flags.args ?? '',
    CNI_PATH: flags.path ?? '/opt/cni/bin',
  }
  return parseRequest(
    (name) => variables[name],
    () => onePlugin(text),
  )
}

/** Of a list, Pontoon's plugin with the list's name and version, as the runtime hands it over. */
function onePlugin(text: string): string {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch {
    return text // the parser of requests tells what is wrong
  }
  const plugins = isObject(list) ? memberOf(list, 'plugins') : undefined
  if (!isObject(list) || !Array.isArray(plugins)) return text
  const own = ['pontoon', 'bridge', calledAs()]
  const mine = plugins.filter(isObject).find((plugin) => own.includes(String(memberOf(plugin, 'type'))))
  if (!mine)
    throw new Fault(CODE.invalidConfig, 'no plugin in the list is Pontoon’s', `expected one of ${own.join(', ')}`)
  return JSON.stringify({ ...mine, name: memberOf(list, 'name'), cniVersion: newestOf(list) })
}

/** As runtimes choose: the newest that the list allows, of those that Pontoon speaks. */
function newestOf(list: JsonObject): unknown {
  const version = memberOf(list, 'cniVersion')
  const more = memberOf(list, 'cniVersions')
  const allowed = [version, ...(Array.isArray(more) ? more : [])]
  return SUPPORTED_VERSIONS.findLast((one) => allowed.includes(one)) ?? version
}

async function planOf(request: Request, isNetnsGiven: boolean): Promise<Planned> {
  const notes = isDelegated(request.netconf)
    ? [`addresses are asked of the IPAM plugin ${request.netconf.ipam?.type}: what depends on them is not shown`]
    : []
  if (request.verb === 'ADD') {
    const planned = await (await import('./plan/add.ts')).planOfAdd(request, isNetnsGiven)
    return { ...planned, notes: [...notes, ...planned.notes] }
  }
  const removal = await import('./plan/removal.ts')
  const steps = request.verb === 'DEL' ? await removal.planOfDel(request) : await removal.planOfGc(request)
  return { ok: true, verb: request.verb, steps, notes }
}
