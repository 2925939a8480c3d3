/** Pods that the reference plugins made, after the node got Pontoon; and the way back. */
import { describe, expect, test } from 'vitest'
import { type Executable, forEachExecutable } from './executables.ts'
import { type Lab, openLab } from './lab.ts'
import { files, leftovers, marksOf, store } from './observe.ts'
import { add, addressesOf, type Call, callPlugin, check, conf, del, dualStack } from './plugin.ts'
import { REFERENCE } from './reference.ts'

/** Puts the reference plugins beside ours: /opt/reference/bridge calls its own host-local. */
async function openMixedLab(executable: Executable): Promise<Lab> {
  if (REFERENCE === undefined)
    throw new Error('the reference plugins are missing: run netns-tests/clients/cnitool.sh once')
  const lab = await openLab(executable)
  lab.must('sh', '-ec', `mkdir /run/reference; mount --bind ${REFERENCE} /run/reference`)
  return lab
}

const byReference: Call = { exe: '../../../run/reference/bridge', path: '/run/reference' }
const config = dualStack({ cniVersion: '1.0.0' })

forEachExecutable((executable) => {
  describe.each([
    { backend: 'iptables', keys: {} },
    { backend: 'nftables', keys: { ipMasqBackend: 'nftables' } },
    { backend: 'no', keys: { ipMasq: false } },
  ])('a pod of the reference with $backend masquerade', ({ keys }) => {
    const ends = [
      { name: 'is removed', call: {} },
      { name: 'is removed without its namespace', call: { netns: '' }, gone: true },
      { name: 'is removed without prevResult', call: { conf: { ...config, ...keys } } },
    ]
    test('passes CHECK', async () => {
      const lab = await openMixedLab(executable)
      expect(check(lab, add(lab, 'a', { ...config, ...keys }, byReference))).toMatchObject({ status: 0, stdout: '' })
    })

    test.each(ends)('$name', async ({ call, gone }) => {
      const lab = await openMixedLab(executable)
      const old = add(lab, 'a', { ...config, ...keys }, byReference)
      const fresh = add(lab, 'b', { ...config, ...keys })
      expect(addressesOf(fresh.result)).toEqual(['10.9.0.3', 'fd00:9::3'])
      expect(lab.run(['ip', 'netns', 'exec', 'b', 'ping', '-nqc1', '-W2', '10.9.0.2'])).toMatchObject({ status: 0 })
      if (gone) lab.must('ip', 'netns', 'del', 'a')
      del(lab, old, call)
      del(lab, fresh)
      expect(leftovers(lab, ...marksOf(old, fresh))).toEqual([])
    })
  })

  test('a pod of ours is removed by the reference, and its address is free again', async () => {
    const lab = await openMixedLab(executable)
    // Without masquerade: Debian's build of the reference fails to remove what is not there.
    const plain = { ...config, ipMasq: false }
    const ours = add(lab, 'a', plain)
    expect(
      callPlugin(lab, 'CHECK', { ...byReference, ...ours, conf: { ...plain, prevResult: ours.result } }),
    ).toMatchObject({ status: 0 })
    del(lab, ours, byReference)
    expect(store(lab)).toEqual({})
    expect(lab.ip('-j link show').map(({ ifname }: { ifname: string }) => ifname)).toEqual(['lo', 'br-t'])
    expect(add(lab, 'b', plain, { args: 'IgnoreUnknown=1;IP=10.9.0.2' }).result.ips[0].address).toBe('10.9.0.2/24')
  })

  test('the store holds nothing that the reference would not write', async () => {
    const lab = await openMixedLab(executable)
    add(lab, 'a', conf())
    const ours = files(lab, '/var/lib/cni')
    const { '/var/lib/cni/networks/t/lock': _, ...rest } = ours
    expect(rest).toEqual({
      '/var/lib/cni/networks/t/10.9.0.2': 'pod-a\r\neth0',
      '/var/lib/cni/networks/t/last_reserved_ip.0': '10.9.0.2',
    })
  })
})
