import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { CODE } from '../../src/core/fault.ts'
import { parseResolvConf, readDns } from '../../src/verbs/dns.ts'
import { netconf } from './netconf.ts'

const none = { nameservers: [], domain: '', search: [], options: [] }

test.each<[name: string, text: string, want: object]>([
  ['nothing', '', none],
  [
    'nameservers add up',
    'nameserver 10.9.0.1\nnameserver fd00::1\n',
    { ...none, nameservers: ['10.9.0.1', 'fd00::1'] },
  ],
  ['the last domain counts', 'domain a.example\ndomain b.example', { ...none, domain: 'b.example' }],
  [
    'the last search list counts',
    'search a.example b.example\nsearch c.example d.example',
    { ...none, search: ['c.example', 'd.example'] },
  ],
  [
    'options add up',
    'options ndots:5 edns0\noptions timeout:1',
    { ...none, options: ['ndots:5', 'edns0', 'timeout:1'] },
  ],
  [
    'comments and blanks are no words',
    '# nameserver 1.1.1.1\n; search x\n\n  nameserver\t10.9.0.1 # home\r\n options ndots:2;edns0\n',
    { ...none, nameservers: ['10.9.0.1'], options: ['ndots:2'] },
  ],
  ['a keyword alone says nothing', 'nameserver\ndomain\nsearch\noptions\n', none],
  ['other keywords are nobody’s business', 'sortlist 10.0.0.0\nlookup file bind\nnameservers 10.9.0.1\n', none],
])('resolv.conf: %s', (_, text, want) => {
  expect(parseResolvConf(text)).toEqual(want)
})

const folder = mkdtempSync(join(tmpdir(), 'pontoon-dns-'))
afterAll(() => rmSync(folder, { recursive: true }))
const resolvConf = join(folder, 'resolv.conf')
writeFileSync(resolvConf, 'nameserver 10.9.0.1\n')

test('the file that ipam.resolvConf names is read', () => {
  expect(readDns(netconf({ ipam: { resolvConf } }))).toEqual({ ...none, nameservers: ['10.9.0.1'] })
})

test('without one there are no settings', () => {
  expect([readDns(netconf({ ipam: {} })), readDns(netconf({}))]).toEqual([undefined, undefined])
})

test('the settings of the configuration come before those of the file', () => {
  const dns = { nameservers: ['192.0.2.1'] }
  expect(readDns(netconf({ dns, ipam: { resolvConf: '/nonexistent' } }))).toMatchObject(dns)
})

test.each([
  ['/nonexistent/resolv.conf', 'ENOENT'],
  [folder, 'EISDIR'],
])('a file that can not be read is told: %s', (path, code) => {
  expect(() => readDns(netconf({ ipam: { resolvConf: path } }))).toThrow(
    expect.objectContaining({
      code: CODE.io,
      message: `can't read ${path}`,
      details: `${code}: ipam.resolvConf names a file such as /etc/resolv.conf`,
    }),
  )
})
