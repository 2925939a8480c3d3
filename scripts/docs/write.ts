/** Writes what is made of the table of keys, and of the registry of commands. Run by scripts/docs.mjs. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { manual } from './manual.ts'
import { markdown } from './markdown.ts'
import { schemaOf } from './schema.ts'

const root = join(import.meta.dirname, '../..')
writeFileSync(join(root, 'conf/pontoon.schema.json'), `${JSON.stringify(schemaOf(), null, 2)}\n`)
writeFileSync(join(root, 'docs/configuration.md'), markdown())
writeFileSync(join(root, 'docs/pontoon.8'), manual())
