import { expect, test } from 'vitest'
import { GRACE, isDead, type Traces } from '../../src/core/liveness.ts'

const now = { boot: 'this', time: 1_000_000 }
const gone: Traces = {
  boot: 'this',
  time: now.time - GRACE - 1,
  netnsLives: false,
  hostVethLives: false,
  makerLives: false,
}

test.each<[name: string, traces: Partial<Traces>, want: boolean]>([
  ['all is gone', {}, true],
  ['its namespace is there', { netnsLives: true }, false],
  ['its host end is there', { hostVethLives: true }, false],
  ['its ADD is running', { makerLives: true }, false],
  ['it is as old as the grace time', { time: now.time - GRACE }, false],
  ['it is brand-new', { time: now.time }, false],
  ['the clock was set back', { time: now.time + 3_600_000 }, false],
  [
    'it is of another boot, whose names mean nothing now',
    { boot: 'last', netnsLives: true, hostVethLives: true },
    true,
  ],
  ['it is of another boot, and looks brand-new', { boot: 'last', time: now.time }, true],
])('%s: dead %s', (_, traces, want) => {
  expect(isDead({ ...gone, ...traces }, now)).toBe(want)
})
