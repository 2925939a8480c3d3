import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { forEachExecutable } from './executables.ts'
import { openLab } from './lab.ts'
import { add, callPlugin, conf } from './plugin.ts'

const LINE = /^pontoon: +\d+\.\d{3} ms +\d+\.\d{3} ms {2}\S.*$/

forEachExecutable((executable) => {
  test('PONTOON_TRACE=1 tells each step on stderr, and changes nothing else', async () => {
    const lab = await openLab(executable)
    const config = conf()
    const call = { id: 'pod-a', netns: lab.netns('a'), conf: config, env: { PONTOON_TRACE: '1' } }
    const added = callPlugin(lab, 'ADD', call)
    expect(added, added.stderr).toMatchObject({ status: 0, json: { ips: [{ address: '10.9.0.2/24' }] } })
    const lines = added.stderr.trimEnd().split('\n')
    expect(lines.filter((line) => !LINE.test(line))).toEqual([])
    const steps = lines.map((line) => line.slice(34))
    expect(steps[0]).toBe('the engine runs')
    expect(steps).toContain('the addresses are reserved')
    expect(steps.at(-1)).toBe('answered')
    const deleted = callPlugin(lab, 'DEL', { ...call, conf: { ...config, prevResult: added.json } })
    expect(deleted).toMatchObject({ status: 0, stdout: '' })
    expect(deleted.stderr).toContain('nft: ended')
  })

  test.each(['', '0', 'true'])('PONTOON_TRACE=%s tells nothing', async (value) => {
    const lab = await openLab(executable)
    lab.netns('a')
    const env = { PONTOON_TRACE: value }
    expect(callPlugin(lab, 'ADD', { id: 'pod-a', netns: 'a', conf: conf(), env })).toMatchObject({
      status: 0,
      stderr: '',
    })
  })

  test('an ADD opens and looks at few files', async () => {
    const lab = await openLab(executable)
    const config = conf({ ipMasq: false })
    add(lab, 'first', config)
    lab.netns('a')
    // Only the plugin itself: what its children open is the tools' own.
    const under = ['strace', '-qq', '-o', '/run/trace', '-e', 'trace=openat,newfstatat,statx', '-e', 'signal=none']
    expect(callPlugin(lab, 'ADD', { id: 'pod-a', netns: 'a', conf: config, under })).toMatchObject({ status: 0 })
    const paths = readFileSync(`${lab.root}/run/trace`, 'utf8').match(/"\/(?:run\/pontoon|var\/lib\/cni)[^"]*"/g) ?? []
    expect(paths.length).toBeGreaterThan(5)
    expect(paths.length, paths.join('\n')).toBeLessThan(40)
  })
})
