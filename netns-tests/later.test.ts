import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { openLab } from './lab.ts'
import { leftovers, marksOf } from './observe.ts'
import { add, callPlugin, check, conf, del, dualStack, expectFault } from './plugin.ts'

const BEFORE = {
  interfaces: [{ name: 'lo', mac: '00:00:00:00:00:00', sandbox: '/run/netns/a' }],
  ips: [{ address: '127.0.0.1/8', interface: 0 }],
  routes: [{ dst: '192.0.2.0/24' }],
  dns: { nameservers: ['192.0.2.53'] },
}

forEachExecutable((executable) => {
  test.each(['0.3.1', '0.4.0', '1.0.0', '1.1.0'])(
    'behind another plugin, in version %s: its result stays, with the own interfaces behind it',
    async (cniVersion) => {
      const lab = await openLab(executable)
      const family = cniVersion < '1.0.0' ? { version: '4' } : {}
      const prevResult = { cniVersion, ...BEFORE, ips: BEFORE.ips.map((ip) => ({ ...family, ...ip })) }
      const one = add(lab, 'a', dualStack({ cniVersion, prevResult }))
      expect(one.result).toMatchObject({ cniVersion, dns: BEFORE.dns })
      expect(one.result.interfaces).toHaveLength(4)
      expect(one.result.interfaces[0]).toEqual(BEFORE.interfaces[0])
      expect(one.result.interfaces[3]).toMatchObject({ name: 'eth0', sandbox: '/run/netns/a' })
      expect(one.result.ips).toMatchObject([
        { address: '127.0.0.1/8', interface: 0 },
        { address: '10.9.0.2/24', interface: 3 },
        { address: 'fd00:9::2/64', interface: 3 },
      ])
      expect(one.result.routes).toMatchObject([{ dst: '192.0.2.0/24' }, { dst: '0.0.0.0/0' }, { dst: '::/0' }])
      if (cniVersion !== '0.3.1') expect(check(lab, one)).toMatchObject({ status: 0, stdout: '' })
      del(lab, one)
      expect(leftovers(lab, ...marksOf(one).filter((mark) => mark !== '127.0.0.1'))).toEqual([])
    },
  )

  test('a former result that is none is refused before anything is made', async () => {
    const lab = await openLab(executable)
    const bad = conf({ prevResult: { cniVersion: '1.1.0', ips: 'none' } })
    expectFault(callPlugin(lab, 'ADD', { id: 'x', netns: lab.netns('x'), conf: bad }), { code: 7, about: /prevResult/ })
    expect(lab.ip('-j link show').map((link: { ifname: string }) => link.ifname)).toEqual(['lo'])
  })
})
