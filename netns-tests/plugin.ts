/** Calls of the plugin, as a runtime makes them: variables, configuration on stdin, previous result. */
import { expect } from 'vitest'
import type { Done, Json, Lab } from './lab.ts'

export interface Call {
  readonly id?: string
  readonly ifname?: string
  /** The name of a namespace of the lab, or a path. */
  readonly netns?: string
  readonly conf?: Json
  /** What goes to stdin instead of the configuration. */
  readonly stdin?: string
  readonly args?: string
  readonly path?: string
  /** The name it is called by. */
  readonly exe?: string
  readonly env?: Readonly<Record<string, string>>
  readonly killAfter?: number
  /** Words put before the plugin: `strace …`. */
  readonly under?: readonly string[]
}

export interface Answer extends Done {
  readonly json: Json
}

export interface Attachment {
  readonly id: string
  readonly netns: string
  readonly ifname: string
  readonly conf: Json
  readonly result: Json
  readonly ms: number
}

export const NET = 't'
export const BRIDGE = 'br-t'
const BASE = {
  cniVersion: '1.1.0',
  name: NET,
  type: 'pontoon',
  bridge: BRIDGE,
  isGateway: true,
  ipMasq: true,
  ipam: { type: 'host-local', ranges: [[{ subnet: '10.9.0.0/24' }]], routes: [{ dst: '0.0.0.0/0' }] },
}
const DUAL = [[{ subnet: '10.9.0.0/24' }], [{ subnet: 'fd00:9::/64' }]]
const DEFAULT_ROUTES = [{ dst: '0.0.0.0/0' }, { dst: '::/0' }]

/** The usual configuration with these keys in place of its own; `ipam` is merged too. */
export function conf(keys: Json = {}): Json {
  return { ...BASE, ...keys, ipam: { ...BASE.ipam, ...keys.ipam } }
}

export function dualStack(keys: Json = {}): Json {
  return conf({ ...keys, ipam: { ranges: DUAL, routes: DEFAULT_ROUTES, ...keys.ipam } })
}

export function netnsPath(netns: string): string {
  return netns === '' || netns.startsWith('/') ? netns : `/run/netns/${netns}`
}

function invocation(verb: string, call: Call) {
  const env: Record<string, string> = {
    CNI_COMMAND: verb,
    CNI_CONTAINERID: call.id ?? '',
    CNI_NETNS: netnsPath(call.netns ?? ''),
    CNI_IFNAME: call.ifname ?? 'eth0',
    CNI_ARGS: call.args ?? '',
    CNI_PATH: call.path ?? '/opt/cni/bin',
    ...call.env,
  }
  return {
    argv: [...(call.under ?? []), `/opt/cni/bin/${call.exe ?? 'pontoon'}`],
    options: {
      env,
      stdin: call.stdin ?? JSON.stringify(call.conf ?? conf()),
      ...(call.killAfter === undefined ? {} : { killAfter: call.killAfter }),
    },
  }
}

function answer(lab: Lab, verb: string, call: Call, done: Done): Answer {
  lab.note(
    `${verb} ${call.id ?? ''} ${call.netns ?? ''}: status ${done.status}, ${done.ms} ms\n${done.stdout}${done.stderr}`,
  )
  let json: Json
  try {
    json = done.stdout === '' ? undefined : JSON.parse(done.stdout)
  } catch {
    json = { notOneDocument: done.stdout }
  }
  return { ...done, json }
}

/** Calls the plugin and waits. */
export function callPlugin(lab: Lab, verb: string, call: Call = {}): Answer {
  const { argv, options } = invocation(verb, call)
  return answer(lab, verb, call, lab.run(argv, options))
}

/** Calls the plugin without waiting. */
export async function startPlugin(lab: Lab, verb: string, call: Call = {}): Promise<Answer> {
  const { argv, options } = invocation(verb, call)
  return answer(lab, verb, call, await lab.start(argv, options))
}

/** How often a runtime may be told to try again later. */
const TRIES = 10

/**
 * Calls the plugin as a runtime does that starts many pods at once: again, when it says to try again later (code 11).
 * Where a hundred want the lock of one store, a slow machine may take longer than a call waits for it.
 */
export async function startPatiently(lab: Lab, verb: string, call: Call = {}): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const done = await startPlugin(lab, verb, call)
    if (done.json?.code !== 11 || tries === TRIES) return done
  }
}

/** ADD that must succeed, of container `pod-NAME` in the namespace NAME, which is made when it is not there. */
export function add(lab: Lab, name: string, config: Json = conf(), call: Call = {}): Attachment {
  const netns = call.netns ?? lab.netns(name)
  const id = call.id ?? `pod-${name}`
  const done = callPlugin(lab, 'ADD', { ...call, id, netns, conf: config })
  expect(done, `ADD ${id}`).toMatchObject({ status: 0 })
  return { id, netns, ifname: call.ifname ?? 'eth0', conf: config, result: done.json, ms: done.ms }
}

function again(lab: Lab, verb: string, one: Attachment, call: Call): Answer {
  const { id, netns, ifname } = one
  return callPlugin(lab, verb, { id, netns, ifname, conf: { ...one.conf, prevResult: one.result }, ...call })
}

/** CHECK with ADD's result as prevResult. */
export const check = (lab: Lab, one: Attachment, call: Call = {}): Answer => again(lab, 'CHECK', one, call)

/** DEL with ADD's result as prevResult; it must succeed and print nothing. */
export function del(lab: Lab, one: Attachment, call: Call = {}): Answer {
  const done = again(lab, 'DEL', one, call)
  expect(done, `DEL ${one.id}`).toMatchObject({ status: 0, stdout: '' })
  return done
}

/** Expects exactly one error document on stdout, and a failure status. */
export function expectFault(done: Answer, want: { code?: number; about?: RegExp } = {}): void {
  expect(done.status, done.stdout + done.stderr).toBeGreaterThan(0)
  expect(done.json, done.stdout + done.stderr).toMatchObject({ code: expect.any(Number), msg: expect.any(String) })
  if (want.code !== undefined) expect(done.json).toMatchObject({ code: want.code })
  if (want.about !== undefined) expect(done.stdout).toMatch(want.about)
}

export const addressesOf = (result: Json): string[] => result.ips.map((ip: Json) => ip.address.split('/')[0])
