/** The bill of materials (CycloneDX): npm's own, less what is not in the executable, with what npm knows nothing of. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { root } from '../build/bundle.mjs'

/** @param others what is in the executable and not from npm */
export function billOfMaterials({ packages, others, version, epoch }) {
  const bill = npmSbom()
  const wanted = new Set(packages.map((one) => `${one.name}@${one.version}`))
  const own = `pontoon@${version}`
  const added = others.map((one) => ({
    'bom-ref': `${one.name}@${one.version}`,
    type: 'library',
    name: one.name,
    version: one.version,
    scope: 'required',
    licenses: [{ license: { id: one.license } }],
  }))
  const components = bill.components.filter((one) => wanted.has(`${one.name}@${one.version}`)).map(withoutMirror)
  const missing = [...wanted].filter((ref) => !components.some((one) => `${one.name}@${one.version}` === ref))
  if (missing.length > 0) throw new Error(`npm sbom knows nothing of ${missing.join(', ')}`)
  const refs = new Set([own, ...components.map((one) => one['bom-ref'])])
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({
      ref,
      dependsOn: [
        ...dependsOn.filter((one) => refs.has(one)),
        ...(ref === own ? added.map((one) => one['bom-ref']) : []),
      ],
    }))
  const body = {
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      lifecycles: bill.metadata.lifecycles,
      tools: bill.metadata.tools,
      component: { ...bill.metadata.component, name: 'pontoon', type: 'application' },
    },
    components: [...components, ...added],
    dependencies,
  }
  const { $schema, bomFormat, specVersion } = bill
  const text = { $schema, bomFormat, specVersion, serialNumber: serialOf(JSON.stringify(body)), ...body }
  return `${JSON.stringify(text, undefined, 2)}\n`
}

function npmSbom() {
  const words = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--omit', 'dev']
  try {
    return JSON.parse(execFileSync('npm', words, { cwd: root, stdio: 'pipe', encoding: 'utf8' }))
  } catch (error) {
    throw new Error(`npm sbom: ${error.stderr?.trim().split('\n').at(-1) || error.message} (npm 10 or newer has it)`)
  }
}

/** Where a package was fetched from is this machine's affair. */
function withoutMirror(component) {
  const externalReferences = component.externalReferences?.filter(({ type }) => type !== 'distribution')
  return { ...component, ...(externalReferences && { externalReferences }) }
}

/** A name-based UUID of the content: the same bill has the same serial number. */
function serialOf(text) {
  const hex = createHash('sha256').update(text).digest('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return `urn:uuid:${parts.join('-')}`
}
