/**
 * The bill of materials (CycloneDX 1.5, https://cyclonedx.org/docs/1.5/json/): what is in the executable, as package-lock.json
 * names it. Not by `npm sbom`, which Debian 12 has not, and which lists all that was installed.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from '../build/bundle.mjs'

const readJson = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'))

/**
 * @param packages the npm packages in it: name, version, license, folder
 * @param others what is in the executable and not from npm: name, version, license
 * @param epoch the time that the bill bears, in seconds since 1970
 */
export function billOfMaterials({ packages, others, version, epoch }) {
  const lock = readJson('package-lock.json').packages
  const own = readJson('package.json')
  const refOf = ({ name, version }) => `${name}@${version}`
  const refs = new Map(packages.map((one) => [one.name, refOf(one)]))
  const among = (dependencies = {}) => Object.keys(dependencies).flatMap((name) => refs.get(name) ?? [])
  const body = {
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      lifecycles: [{ phase: 'build' }],
      component: {
        'bom-ref': `pontoon@${version}`,
        type: 'application',
        name: 'pontoon',
        version,
        description: own.description,
        licenses: [{ license: { id: own.license } }],
      },
    },
    components: [
      ...packages.map((one) => componentOf(one, lockedAs(lock, one))),
      ...others.map((one) => ({ ...libraryOf(one), 'bom-ref': refOf(one) })),
    ],
    dependencies: [
      {
        ref: `pontoon@${version}`,
        dependsOn: [...among(own.dependencies), ...among(own.devDependencies), ...others.map(refOf)],
      },
      ...packages.map((one) => ({ ref: refOf(one), dependsOn: among(lockedAs(lock, one).dependencies) })),
      ...others.map((one) => ({ ref: refOf(one), dependsOn: [] })),
    ],
  }
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: serialOf(JSON.stringify(body)),
  }
  return `${JSON.stringify({ ...head, ...body }, undefined, 2)}\n`
}

function libraryOf({ name, version, license }) {
  return { type: 'library', name, version, scope: 'required', licenses: [{ license: { id: license } }] }
}

function componentOf(one, { integrity }) {
  const [algorithm, digest] = integrity.split('-')
  return {
    ...libraryOf(one),
    'bom-ref': `${one.name}@${one.version}`,
    purl: `pkg:npm/${one.name.replace('@', '%40')}@${one.version}`,
    hashes: [
      { alg: algorithm.toUpperCase().replace('SHA', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') },
    ],
  }
}

/** The lock file's entry, which has to be of this very version. */
function lockedAs(lock, { name, version, folder }) {
  const entry = lock[relative(root, folder)] ?? lock[`node_modules/${name}`]
  if (entry?.version !== version || !entry.integrity) throw new Error(`package-lock.json has no ${name}@${version}`)
  return entry
}

/** A name-based UUID of the content: the same bill has the same serial number. */
function serialOf(text) {
  const hex = createHash('sha256').update(text).digest('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return `urn:uuid:${parts.join('-')}`
}
