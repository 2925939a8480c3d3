/** A reporter of vitest for scripts/test: adds to the file $FAILURES what failed and why, in few lines each. */
import { appendFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/** Lines of one failure. */
const MOST = 12

interface Seen {
  readonly message: string
  readonly stack?: string | undefined
  readonly diff?: string | undefined
}

function tell(name: string, [error]: readonly Seen[]): string {
  const text = [error?.message, error?.diff].filter((part) => part).join('\n')
  const where = /^ +at .*(?:test|netns-tests)\/.*$/m.exec(error?.stack ?? '')?.[0].trim()
  const lines = stripVTControlCharacters(text || 'it does not say why').split('\n')
  const few = lines.length > MOST ? [...lines.slice(0, MOST), '…'] : lines
  return [`FAILED ${name}`, ...few, where]
    .flatMap((line, i) => (line ? [i === 0 ? line : `    ${line}`] : []))
    .join('\n')
}

function failuresOf(module: TestModule): readonly string[] {
  const file = module.relativeModuleId
  const groups = [...module.children.allSuites()].filter((group) => group.errors().length > 0)
  return [
    ...(module.errors().length > 0 ? [tell(`${file}: it can't be loaded`, module.errors())] : []),
    ...groups.map((group) => tell(`${file} > ${group.fullName}`, group.errors())),
    ...[...module.children.allTests('failed')].map((test) =>
      tell(`${file} > ${test.fullName}`, test.result().errors ?? []),
    ),
  ]
}

export default class implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const told = [
      ...modules.flatMap(failuresOf),
      ...unhandled.map((error) => tell('an error that belongs to no test', [error])),
    ]
    if (process.env.FAILURES && told.length > 0) appendFileSync(process.env.FAILURES, `${told.join('\n')}\n`)
  }
}
