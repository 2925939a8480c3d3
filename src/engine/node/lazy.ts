/**
 * Packages that are loaded at first use, since they cost more than all the rest of a start: proper-lockfile about 11 ms;
 * execa, where it is not in the executable's snapshot, about 45. By `require`, since `spawn` has to answer at once; the
 * bundler resolves it, and puts the package into the one file without running it. Unbundled, under a test runner, there
 * is no `require` in a module.
 */
import { createRequire } from 'node:module'

export function loadExeca(): typeof import('execa') {
  return typeof require === 'function' ? require('execa') : createRequire(import.meta.url)('execa')
}

export function loadProperLockfile(): typeof import('proper-lockfile') {
  return typeof require === 'function' ? require('proper-lockfile') : createRequire(import.meta.url)('proper-lockfile')
}
