/** A whole list of plugins, run as libcni runs it: in order for ADD and CHECK, the other way round for DEL. */
import { expect } from 'vitest'
import type { Done, Json, Lab } from './lab.ts'
import { netnsPath } from './plugin.ts'
import { REFERENCE } from './reference.ts'

export interface List {
  readonly name: string
  readonly cniVersion: string
  readonly plugins: readonly Json[]
}

export interface Pod {
  readonly list: List
  readonly id: string
  readonly netns: string
  /** By capability: what a runtime puts into `runtimeConfig` of the plugins that ask for it. */
  readonly runtime: Json
  readonly result: Json
}

/** Where the plugins of a list are: Pontoon's names in the lab's own folder, the others among the reference's. */
const programOf = (type: string): string => (type === 'pontoon' ? `/opt/cni/bin/${type}` : `${REFERENCE}/${type}`)

function call(lab: Lab, verb: string, plugin: Json, pod: Omit<Pod, 'result'>, prevResult: Json): Done {
  const { name, cniVersion } = pod.list
  const asked = Object.keys(plugin.capabilities ?? {}).filter((key) => plugin.capabilities[key])
  const runtime = Object.entries(pod.runtime).filter(([key]) => asked.includes(key))
  const { capabilities, ...own } = plugin
  const stdin = JSON.stringify({
    ...own,
    name,
    cniVersion,
    ...(runtime.length > 0 && { runtimeConfig: Object.fromEntries(runtime) }),
    ...(prevResult && { prevResult }),
  })
  const env = {
    CNI_COMMAND: verb,
    CNI_CONTAINERID: pod.id,
    CNI_NETNS: netnsPath(pod.netns),
    CNI_IFNAME: 'eth0',
    CNI_ARGS: '',
    CNI_PATH: `/opt/cni/bin:${REFERENCE}`,
  }
  const done = lab.run([programOf(plugin.type)], { stdin, env })
  lab.note(`${verb} ${plugin.type} ${cniVersion}: status ${done.status}\n${done.stdout}${done.stderr}`)
  expect(done, `${verb} ${plugin.type}: ${done.stdout}`).toMatchObject({ status: 0 })
  return done
}

export function addAll(lab: Lab, list: List, name: string, runtime: Json = {}): Pod {
  const pod = { list, id: `pod-${name}`, netns: lab.netns(name), runtime }
  const netns = name
  let result: Json
  for (const plugin of list.plugins) {
    result = JSON.parse(call(lab, 'ADD', plugin, { ...pod, netns }, result).stdout)
    expect(result.cniVersion).toBe(list.cniVersion)
  }
  return { ...pod, netns, result }
}

export function checkAll(lab: Lab, pod: Pod): void {
  for (const plugin of pod.list.plugins) call(lab, 'CHECK', plugin, pod, pod.result)
}

export function delAll(lab: Lab, pod: Pod): void {
  for (const plugin of [...pod.list.plugins].reverse()) call(lab, 'DEL', plugin, pod, pod.result)
}
