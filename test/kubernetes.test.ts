/** The manifest, held against the Kubernetes API's own schema, and against what the plugin really takes. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DaemonSet, type IDaemonSet } from 'kubernetes-models/apps/v1'
import { ConfigMap, type IConfigMap } from 'kubernetes-models/v1'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const documents = parseAllDocuments(read('conf/kubernetes/pontoon.yaml'), { strict: true })
const [configMap, daemonSet] = documents.map((document) => document.toJS()) as [IConfigMap, IDaemonSet]
const pod = daemonSet.spec?.template.spec
const container = pod?.containers[0]

test('it is YAML, and what it says is a ConfigMap and a DaemonSet', () => {
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([])
  expect([configMap.kind, daemonSet.kind]).toEqual(['ConfigMap', 'DaemonSet'])
  expect(() => new ConfigMap(configMap).validate()).not.toThrow()
  expect(() => new DaemonSet(daemonSet).validate()).not.toThrow()
})

test('the schema does find what is wrong', () => {
  const wrong = structuredClone(daemonSet) as unknown as { spec: { template: { spec: { containers: unknown[] } } } }
  wrong.spec.template.spec.containers = [{ image: 'x' }]
  expect(() => new DaemonSet(wrong as unknown as IDaemonSet).validate()).toThrow(/name/)
})

test('it has no key that Kubernetes does not know', () => {
  // The schema lets unknown keys pass, the types do not.
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache/manifest-'))
  try {
    const check = (name: string, manifest: unknown) => {
      const text = `import type { IDaemonSet } from 'kubernetes-models/apps/v1/DaemonSet'
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap'
export const manifest: ${name} = ${JSON.stringify(manifest)}\n`
      writeFileSync(join(folder, 'manifest.ts'), text)
      const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'preserve', '--types', '']
      const tsc = join(root, 'node_modules/.bin/tsc')
      return spawnSync(tsc, [...options, '--ignoreConfig', join(folder, 'manifest.ts')], { encoding: 'utf8' }).stdout
    }
    expect(check('IConfigMap', configMap)).toBe('')
    expect(check('IDaemonSet', daemonSet)).toBe('')
    expect(check('IDaemonSet', { ...daemonSet, specs: {} })).toMatch(/specs.* does not exist/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('labels agree, and every mount has its volume', () => {
  const labels = daemonSet.spec?.template.metadata?.labels
  expect(labels).toMatchObject(daemonSet.spec?.selector.matchLabels ?? { none: '' })
  const volumes = pod?.volumes?.map(({ name }) => name)
  expect(container?.volumeMounts?.map(({ name }) => name)).toEqual(volumes)
  expect(pod?.volumes?.find(({ name }) => name === 'config')?.configMap?.name).toBe(configMap.metadata?.name)
})

test('the paths on the node are those of the runtimes, mounted under the same names', () => {
  const paths = pod?.volumes?.flatMap(({ hostPath }) => hostPath?.path ?? [])
  expect(paths).toEqual(['/opt/cni/bin', '/etc/cni/net.d'])
  for (const path of paths ?? []) expect(container?.volumeMounts?.map(({ mountPath }) => mountPath)).toContain(path)
})

test('the template is the one of conf/', () => {
  expect(configMap.data?.['pontoon.template']).toBe(read('conf/containerd-template.conflist'))
})

test('the image is of this version', () => {
  expect(container?.image?.split(':')[1]).toBe(JSON.parse(read('package.json')).version)
})
