import { expect, test } from 'vitest'
import { isDead, type Traces } from '../../src/core/liveness.ts'

const gone: Traces = { boot: 'this', netnsLives: false, hostVethLives: false, makerLives: false }

test.each<[name: string, traces: Partial<Traces>, want: boolean]>([
  ['all is gone', {}, true],
  ['its namespace is there', { netnsLives: true }, false],
  ['its host end is there', { hostVethLives: true }, false],
  ['its ADD is running', { makerLives: true }, false],
  [
    'it is of another boot, whose names mean nothing now',
    { boot: 'last', netnsLives: true, hostVethLives: true },
    true,
  ],
  ['it is of another boot, whose process IDs are given out again', { boot: 'last', makerLives: true }, true],
])('%s: dead %s', (_, traces, want) => {
  expect(isDead({ ...gone, ...traces }, 'this')).toBe(want)
})
