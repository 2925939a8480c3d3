/** `pontoon doctor`: everything that STATUS, CHECK and GC know, for every network of the node, and what mends it. */
import { loadIpv6 } from '../core/ip.ts'
import { runShell } from '../host/inspect.ts'
import { examine } from './doctor/checks.ts'
import type { Facts, Finding } from './doctor/facts.ts'
import { gather } from './doctor/gather.ts'
import { doctorText, type Fixed } from './doctor/report.ts'
import { filesNamed, listConfFiles, readConfFiles } from './networks.ts'
import { paintHere, print, printJson, terminalWidth } from './output.ts'

export type DoctorFlags = {
  readonly confDir: string
  readonly fix?: boolean
  readonly json?: boolean
}

export async function run(flags: DoctorFlags, ...files: readonly string[]): Promise<number> {
  await loadIpv6()
  const folder = files.length > 0 ? '' : flags.confDir
  const paths = folder === '' ? filesNamed(files, flags.confDir) : listConfFiles(folder)
  const look = () => gather(readConfFiles(paths), folder)
  let facts = await look()
  let findings = examine(facts)
  const fixed: Fixed[] = []
  if (flags.fix) {
    fixed.push(...(await applySafe(findings)))
    if (fixed.length > 0) {
      facts = await look()
      findings = examine(facts)
    }
  }
  if (flags.json) printJson(doctorJson(facts, findings, fixed))
  else print(doctorText(facts, findings, fixed, { paint: paintHere(), columns: await terminalWidth() }))
  return findings.length > 0 ? 1 : 0
}

/** Each command once, as it is shown. */
async function applySafe(findings: readonly Finding[]): Promise<readonly Fixed[]> {
  const fixed: Fixed[] = []
  for (const { fix, isSafe, what } of findings) {
    if (!isSafe || fixed.some(({ command }) => command === fix)) continue
    const { status, stdout, stderr } = await runShell(fix)
    fixed.push({ command: fix, what, status, output: `${stdout}${stderr}`.trim() })
  }
  return fixed
}

/** The documented shape: members may be added, none is renamed or removed. */
function doctorJson(facts: Facts, findings: readonly Finding[], fixed: readonly Fixed[]): object {
  return {
    version: 1,
    node: {
      engine: facts.engine,
      kernel: facts.kernel,
      tools: facts.tools.map(({ tool, path, version }) => ({ tool, path: path ?? null, version })),
      uplink: facts.uplink ?? null,
    },
    networks: facts.networks.map(({ network, rows, ranges }) => ({
      name: network.name,
      file: network.file,
      leases: rows.length,
      ranges,
    })),
    findings: findings.map(({ isSafe, ...finding }) => ({ ...finding, safe: isSafe })),
    fixed,
  }
}
