import * as engine from '#engine'
import { COMMIT, VERSION } from './core/build-info.ts'

engine.writeStdout(`pontoon ${VERSION} (${COMMIT}, ${engine.describeEngine()})\n`)
engine.exit(0)
