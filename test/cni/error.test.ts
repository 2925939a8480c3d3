import { expect, test } from 'vitest'
import { errorDocument } from '../../src/cni/error.ts'
import { Fault } from '../../src/core/fault.ts'

test('a fault is printed with its code, in the version of the caller', () => {
  expect(errorDocument(new Fault(7, 'mtu is wrong', 'set it right'), '0.4.0')).toBe(
    '{\n    "cniVersion": "0.4.0",\n    "code": 7,\n    "msg": "mtu is wrong",\n    "details": "set it right"\n}',
  )
})

test('without a known version the newest is spoken', () => {
  expect(JSON.parse(errorDocument(new Fault(6, 'no JSON'), undefined))).toEqual({
    cniVersion: '1.1.0',
    code: 6,
    msg: 'no JSON',
    details: '',
  })
})

test.each([
  {
    name: 'an error',
    error: new TypeError('x is undefined'),
    msg: 'a bug in Pontoon: TypeError: x is undefined',
    details: /please report it.*TypeError: x is undefined/s,
  },
  {
    name: 'something else that was thrown',
    error: 'oops',
    msg: 'a bug in Pontoon: oops',
    details: /please report it.*oops/,
  },
])('whatever is no fault is a bug to report: $name', ({ error, msg, details }) => {
  expect(JSON.parse(errorDocument(error, '1.0.0'))).toEqual({
    cniVersion: '1.0.0',
    code: 999,
    msg,
    details: expect.stringMatching(details),
  })
})
