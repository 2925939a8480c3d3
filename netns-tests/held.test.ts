/** Whoever is given an address keeps what serves it, though a former holder is removed, or starts again, meanwhile. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { type Json, type Lab, openLab } from './lab.ts'
import { leftovers, marksOf, STORE, store } from './observe.ts'
import { add, addressesOf, BRIDGE, callPlugin, check, conf, del, expectFault, startPlugin } from './plugin.ts'

const config = conf({ ipMasqBackend: 'nftables' })
const one = (keys: Json = {}) => ({
  ...config,
  ...keys,
  ipam: { type: 'host-local', ranges: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.2', rangeEnd: '10.9.0.2' }]] },
})
const alone = {
  ...config,
  ipam: { type: 'host-local', ranges: [[{ subnet: '10.7.0.5/32', gateway: '10.7.0.1' }]] },
}

/** As after a node's trouble: the pod `a` has gone without DEL, its reservation is lost. Its rules are there. */
function lose(lab: Lab, address: string): void {
  lab.must('ip', '-n', 'a', 'link', 'del', 'eth0')
  lab.must('ip', 'netns', 'del', 'a')
  lab.must('rm', `${STORE}/t/${address}`)
}

const nodeRoutes = (lab: Lab) => lab.must('ip', 'route', 'show', 'proto', '122').trim()

/**
 * From now on the first nft that is to delete elements waits until it is let go, before it does so.
 * @returns resolves, when it waits, to the function that lets it go
 */
function holdUp(lab: Lab): () => Promise<() => void> {
  const nft = `#!/bin/sh
    [ "$*" = "-f -" ] || exec /run/real-nft "$@"
    script=$(cat)
    case $script in *"delete element"*)
      if mv /run/hold /run/held 2>/dev/null; then while [ -e /run/held ]; do sleep 0.01; done; fi ;;
    esac
    printf '%s\\n' "$script" | /run/real-nft -f -`
  writeFileSync(`${lab.root}/run/nft`, nft, { mode: 0o755 })
  writeFileSync(`${lab.root}/run/hold`, '')
  lab.must(
    'sh',
    '-ec',
    'real=$(readlink -f "$(command -v nft)"); cp "$real" /run/real-nft; mount --bind /run/nft "$real"',
  )
  return async () => {
    for (let tries = 0; !existsSync(`${lab.root}/run/held`); tries++) {
      if (tries > 1000) throw new Error('no nft waits')
      await sleep(10)
    }
    return () => rmSync(`${lab.root}/run/held`)
  }
}

forEachExecutable((executable) => {
  describe('a container starts again under its ID, and another has its address by now', () => {
    test.each(['nftables', 'iptables'])(
      'the other keeps its masquerading; it begins with %s',
      async (ipMasqBackend) => {
        const lab = await openLab(executable)
        const former = add(lab, 'a', config)
        lose(lab, '10.9.0.2')
        const other = add(lab, 'b', conf({ ipMasqBackend: 'nftables', ipam: { ranges: one().ipam.ranges } }))
        expect(addressesOf(other.result)).toEqual(['10.9.0.2'])
        const again = add(lab, 'a2', conf({ ipMasqBackend }), { id: former.id })
        expect(check(lab, other)).toMatchObject({ status: 0 })
        expect(check(lab, again)).toMatchObject({ status: 0 })
        for (const each of [again, other]) del(lab, each)
        expect(leftovers(lab, ...marksOf(former, other, again))).toEqual([])
      },
    )

    test('the other keeps its route', async () => {
      const lab = await openLab(executable)
      const former = add(lab, 'a', alone)
      lose(lab, '10.7.0.5')
      const other = add(lab, 'b', alone)
      const again = add(lab, 'a2', config, { id: former.id })
      expect(nodeRoutes(lab)).toBe(`10.7.0.5 dev ${BRIDGE} scope link`)
      expect(check(lab, other)).toMatchObject({ status: 0 })
      for (const each of [again, other]) del(lab, each)
      expect(nodeRoutes(lab)).toBe('')
      expect(leftovers(lab, former.id, other.id)).toEqual([])
    })
  })

  test('a container that starts again with another address leaves nothing at the former one', async () => {
    const lab = await openLab(executable)
    const former = add(lab, 'a', alone)
    const other = add(lab, 'b', {
      ...alone,
      ipam: { ...alone.ipam, ranges: [[{ subnet: '10.7.0.6/32', gateway: '10.7.0.1' }]] },
    })
    lab.must('ip', 'netns', 'del', 'a')
    const again = add(lab, 'a2', config, { id: former.id })
    expect(nodeRoutes(lab)).toBe(`10.7.0.6 dev ${BRIDGE} scope link`)
    expect(store(lab)).toEqual({ '10.7.0.6': 'pod-b\r\neth0', '10.9.0.2': 'pod-a\r\neth0' })
    for (const each of [other, again]) expect(check(lab, each)).toMatchObject({ status: 0 })
    for (const each of [other, again]) del(lab, each)
    expect(leftovers(lab, former.id, other.id)).toEqual([])
  })

  test('a container starts again, and its former rules can’t be removed: DEL does it later', async () => {
    const lab = await openLab(executable)
    const former = add(lab, 'a', config)
    lab.must('ip', 'netns', 'del', 'a')
    lab.must('sh', '-ec', 'mount --bind /bin/false "$(readlink -f "$(command -v nft)")"')
    const again = { id: former.id, netns: lab.netns('a2'), conf: config }
    expectFault(callPlugin(lab, 'ADD', again), { code: 102, about: /nft/ })
    lab.must('sh', '-ec', 'umount "$(readlink -f "$(command -v nft)")"')
    expect(callPlugin(lab, 'DEL', again)).toMatchObject({ status: 0 })
    expect(leftovers(lab, ...marksOf(former))).toEqual([])
  })

  test('a container starts again with another address: the former one is nobody’s before its rules are gone', async () => {
    const lab = await openLab(executable)
    const former = add(lab, 'a', one())
    lab.must('ip', 'netns', 'del', 'a')
    const held = holdUp(lab)
    const elsewhere = conf({ ipMasqBackend: 'nftables', ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } })
    const again = startPlugin(lab, 'ADD', { id: former.id, netns: lab.netns('a2'), conf: elsewhere })
    const letGo = await held()
    const early = callPlugin(lab, 'ADD', { id: 'pod-b', netns: lab.netns('b'), conf: one() })
    letGo()
    expect(await again).toMatchObject({ status: 0 })
    expect(early.json).toMatchObject({ code: 100 })
    const other = add(lab, 'b', one())
    expect(check(lab, other)).toMatchObject({ status: 0 })
  })
})
