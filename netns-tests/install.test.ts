/** `pontoon install` and `uninstall`: on nodes where containers start meanwhile, and where plugins are already. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { forEachExecutable } from './executables.ts'
import { type Done, type Lab, openLab } from './lab.ts'
import { files, leftovers } from './observe.ts'
import { add, addressesOf, callPlugin, conf, startPlugin } from './plugin.ts'
import { REFERENCE } from './reference.ts'
import { until } from './until.ts'

const FOLDER = '/run/plugins'
/** The installed executable, as `Call.exe`. */
const INSTALLED = `../../..${FOLDER}/pontoon`
const CONFLIST = '/etc/cni/net.d/50-pods.conflist'

const pontoon = (lab: Lab, ...words: readonly string[]): Done => {
  const done = lab.run(['/opt/cni/bin/pontoon', ...words])
  lab.note(`pontoon ${words.join(' ')}: status ${done.status}\n${done.stdout}${done.stderr}`)
  return done
}
const install = (lab: Lab, ...words: readonly string[]): Done => pontoon(lab, 'install', '--dir', FOLDER, ...words)
const uninstall = (lab: Lab): Done => pontoon(lab, 'uninstall', '--dir', FOLDER)
const folder = (lab: Lab) => Object.keys(files(lab, FOLDER)).map((path) => path.slice(FOLDER.length + 1))
/** What each file is: content, and all that is known of it but when its names changed. */
const sums = (lab: Lab) => lab.must('sh', '-c', `cd ${FOLDER}; sha256sum *; stat -c '%n %F %i %h %a %u %g %y' *`)
const write = (lab: Lab, path: string, content: string) =>
  void lab.run(['sh', '-c', `mkdir -p "\${0%/*}"; cat >"$0"`, path], { stdin: content })

const manifest = readFileSync(join(import.meta.dirname, '../conf/kubernetes/pontoon.yaml'), 'utf8')

const list = (subnet: string) =>
  JSON.stringify({
    cniVersion: '1.0.0',
    name: 'mine',
    plugins: [{ ...conf(), ipam: { type: 'host-local', subnet } }].map(({ name, cniVersion, ...rest }) => rest),
  })

forEachExecutable((executable) => {
  test('the executable is put in place whole, may be run, and is taken away again', async () => {
    const lab = await openLab(executable)
    expect(install(lab)).toMatchObject({ status: 0, stdout: `${FOLDER}/pontoon: installed\n`, stderr: '' })
    expect(folder(lab).sort()).toEqual(['.pontoon.installed', 'pontoon'])
    lab.must('cmp', '/opt/cni/bin/pontoon', `${FOLDER}/pontoon`)
    expect(lab.must('stat', '-c', '%a', `${FOLDER}/pontoon`)).toBe('755\n')
    expect(install(lab).status).toBe(0)
    const again = lab.run([`${FOLDER}/pontoon`, 'install', '--dir', FOLDER])
    expect(again).toMatchObject({ status: 0, stdout: `${FOLDER}/pontoon: is this executable\n` })
    expect(uninstall(lab)).toMatchObject({ status: 0, stdout: `${FOLDER}/pontoon: removed\n` })
    expect(folder(lab)).toEqual([''])
    expect(uninstall(lab)).toMatchObject({ status: 0, stdout: `${FOLDER}: pontoon install made nothing here\n` })
  })

  test('it stands in for the plugins that were there, and gives their names back', async () => {
    if (REFERENCE === undefined) throw new Error('the reference plugins are missing')
    const lab = await openLab(executable)
    lab.must('mkdir', FOLDER)
    lab.must('cp', `${REFERENCE}/bridge`, `${REFERENCE}/host-local`, `${REFERENCE}/portmap`, FOLDER)
    const before = sums(lab)
    expect(install(lab, '--as', 'bridge,host-local').stdout).toContain('kept as bridge.before-pontoon')
    expect(lab.must('readlink', `${FOLDER}/bridge`, `${FOLDER}/host-local`)).toBe('pontoon\npontoon\n')
    lab.must('cmp', `${REFERENCE}/bridge`, `${FOLDER}/bridge.before-pontoon`)
    expect(install(lab, '--as', 'bridge').stdout).toContain(`${FOLDER}/bridge: is a link to pontoon`)
    const one = add(lab, 'a', conf({ type: 'bridge', ipMasq: false }), {
      exe: `../../..${FOLDER}/bridge`,
      path: FOLDER,
    })
    // Made by the one, removed by the other: that is what a way back is for.
    expect(install(lab, '--undo')).toMatchObject({ status: 0, stderr: '' })
    expect(lab.must('readlink', '-f', `${FOLDER}/bridge`)).toBe(`${FOLDER}/bridge\n`)
    const call = {
      ...one,
      exe: `../../..${FOLDER}/bridge`,
      path: FOLDER,
      conf: { ...one.conf, prevResult: one.result },
    }
    expect(callPlugin(lab, 'DEL', call)).toMatchObject({ status: 0 })
    expect(install(lab, '--as', 'bridge', '--as', 'host-local').status).toBe(0)
    expect(uninstall(lab).status).toBe(0)
    expect(sums(lab)).toBe(before)
    // As an installation leaves it that is killed when it has kept a plugin, and not yet taken its name.
    const killed = 'mv bridge.before-pontoon bridge; ln bridge bridge.before-pontoon'
    for (const next of [() => install(lab, '--undo'), () => install(lab, '--as', 'bridge')]) {
      expect(install(lab, '--as', 'bridge').status).toBe(0)
      lab.must('sh', '-ec', `cd ${FOLDER}; ${killed}`)
      expect(next()).toMatchObject({ status: 0, stderr: '' })
      expect(folder(lab)).not.toContain('.bridge.before-pontoon')
    }
    expect(lab.must('readlink', `${FOLDER}/bridge`)).toBe('pontoon\n')
    expect(uninstall(lab).status).toBe(0)
    expect(sums(lab)).toBe(before)
  })

  // Each new file of pontoon-node is 110 MB that no two processes share: 50 of them are a test of the machine.
  const count = executable.name === 'pontoon-node' ? 10 : 50
  test(`${count} ADDs at once meet no half file and no busy one while it is installed again and again`, async () => {
    const lab = await openLab(executable)
    expect(install(lab, '--as', 'bridge').status).toBe(0)
    const script = `while [ ! -e /run/stop ]; do /opt/cni/bin/pontoon install --dir ${FOLDER} --as bridge || exit 1; echo round; sleep 0.1; done`
    const loop = lab.start(['sh', '-c', script])
    const names = Array.from({ length: count }, (_, i) => `p${i}`)
    for (const name of names) lab.netns(name)
    const calls = names.map((name, i) => ({
      id: name,
      netns: name,
      exe: i % 2 === 0 ? INSTALLED : `../../..${FOLDER}/bridge`,
      conf: conf(),
    }))
    const added = await Promise.all(calls.map((call) => startPlugin(lab, 'ADD', call)))
    expect(added.filter(({ status }) => status !== 0)).toEqual([])
    expect(new Set(added.flatMap(({ json }) => addressesOf(json))).size).toBe(count)
    const gone = await Promise.all(calls.map((call) => startPlugin(lab, 'DEL', call)))
    expect(gone.filter(({ status }) => status !== 0)).toEqual([])
    write(lab, '/run/stop', '')
    const { status, stdout, stderr } = await loop
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout.split('round').length).toBeGreaterThan(3)
    expect(folder(lab).sort()).toEqual(['.pontoon.installed', 'bridge', 'pontoon'])
    expect(leftovers(lab, ...added.flatMap(({ json }) => addressesOf(json)))).toEqual([])
  })

  test('a network is written when asked for, and found fit for use', async () => {
    const lab = await openLab(executable)
    write(lab, '/etc/cni/net.d/10-other.conflist', list('10.8.0.0/24'))
    const done = install(lab, '--conflist', '50-pods.conflist')
    expect(done).toMatchObject({ status: 0 })
    expect(done.stdout).toContain(`${CONFLIST}: written`)
    expect(done.stdout).toContain('network pods: pontoon is ready')
    expect(done.stderr).toContain(`10-other.conflist comes before ${CONFLIST}`)
    const written = JSON.parse(readFileSync(lab.root + CONFLIST, 'utf8'))
    const [plugin] = written.plugins
    add(lab, 'a', { ...plugin, name: written.name, cniVersion: '1.0.0' }, { exe: INSTALLED, path: FOLDER })
    expect(uninstall(lab).stdout).toContain(`${CONFLIST}: removed`)
    expect(Object.keys(files(lab, '/etc/cni/net.d'))).toEqual(['/etc/cni/net.d/10-other.conflist'])
  })

  test('a network that somebody wrote is written over only by force, and comes back', async () => {
    const lab = await openLab(executable)
    const own = list('10.8.0.0/24')
    write(lab, CONFLIST, own)
    write(lab, '/run/new.conflist', list('10.7.0.0/24'))
    const order = ['--conflist', CONFLIST, '--from', '/run/new.conflist']
    expect(install(lab, ...order)).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('--force') })
    expect(folder(lab)).toEqual([]) // nothing was begun
    expect(install(lab, ...order, '--force')).toMatchObject({ status: 0, stderr: '' })
    expect(readFileSync(lab.root + CONFLIST, 'utf8')).toBe(list('10.7.0.0/24'))
    write(lab, '/run/new.conflist', list('10.6.0.0/24'))
    expect(install(lab, ...order, '--force').status).toBe(0)
    expect(uninstall(lab).stdout).toContain(`${CONFLIST}: as it was before`)
    expect(readFileSync(lab.root + CONFLIST, 'utf8')).toBe(own)
  })

  test('a network that could never be served is not written; one that can not be now is, with a warning', async () => {
    const lab = await openLab(executable)
    write(lab, '/run/new.conflist', list('10.8.0.0/33'))
    const order = ['--conflist', CONFLIST, '--from', '/run/new.conflist']
    expect(install(lab, ...order)).toMatchObject({ status: 1, stderr: expect.stringContaining('10.8.0.0/33') })
    expect(files(lab, '/etc/cni/net.d')).toEqual({ '/etc/cni/net.d/': '' })
    write(lab, '/run/new.conflist', list('10.8.0.0/24'))
    lab.must('ip', 'link', 'add', 'br-t', 'type', 'veth', 'peer', 'name', 'other')
    expect(install(lab, ...order)).toMatchObject({ status: 1, stderr: expect.stringContaining('br-t is not a bridge') })
    expect(install(lab, ...order, '--no-verify')).toMatchObject({ status: 0, stderr: '' })
  })

  test('a template is written as it is, and anew when it has changed', async () => {
    const lab = await openLab(executable)
    const path = '/etc/cni/net.d/pods.template'
    for (const content of ['{{range .PodCIDRRanges}}', '{{range .Routes}}']) {
      write(lab, '/run/new', content)
      expect(install(lab, '--conflist', 'pods.template', '--from', '/run/new')).toMatchObject({ status: 0, stderr: '' })
      expect(files(lab, '/etc/cni/net.d')).toEqual({ [path]: content })
    }
    write(lab, path, 'theirs')
    expect(install(lab, '--conflist', path, '--from', '/run/new')).toMatchObject({ status: 1, stdout: '' })
    expect(files(lab, '/etc/cni/net.d')).toEqual({ [path]: 'theirs' })
  })

  test('it stays on request, and does again what was undone', async () => {
    const lab = await openLab(executable)
    const words = ['install', '--dir', FOLDER, '--as', 'bridge,host-local', '--every', '1']
    const agent = lab.background('/opt/cni/bin/pontoon', ...words)
    const isWhole = () =>
      lab.run(['sh', '-c', `cd ${FOLDER} && cmp pontoon /opt/cni/bin/pontoon && test bridge -ef pontoon`])
    await until(() => isWhole().status === 0, agent.output)
    write(lab, `${FOLDER}/theirs`, 'another plugin')
    lab.must('mv', `${FOLDER}/theirs`, `${FOLDER}/bridge`)
    await until(() => isWhole().status === 0, agent.output)
    expect(lab.must('cat', `${FOLDER}/bridge.before-pontoon`)).toBe('another plugin')
    lab.must('rm', `${FOLDER}/pontoon`)
    await until(() => isWhole().status === 0, agent.output)
  })

  // Not with Node: it needs a C library, which is not there.
  const alone = executable.name === 'pontoon-node' ? undefined : test
  alone?.('the DaemonSet installs it from an image that has nothing else, without a capability', async () => {
    const lab = await openLab(executable)
    const [config, daemonSet] = parseAllDocuments(manifest).map((document) => document.toJS())
    const [container] = daemonSet.spec.template.spec.containers
    const words = container.args.filter((word: string) => !word.startsWith('--every'))
    write(lab, '/run/image/config/pontoon.template', config.data['pontoon.template'])
    lab.must(
      'sh',
      '-ec',
      `cd /run/image; cp /opt/cni/bin/pontoon .; mkdir -p proc opt/cni/bin etc/cni/net.d ${FOLDER}
        mount -t proc proc proc; mount --bind ${FOLDER} opt/cni/bin; mount --bind /etc/cni/net.d etc/cni/net.d`,
    )
    expect(lab.run(['chroot', '/run/image', '/pontoon', ...words])).toMatchObject({ status: 0, stderr: '' })
    expect(files(lab, '/etc/cni/net.d')).toEqual({
      '/etc/cni/net.d/pontoon.template': config.data['pontoon.template'],
    })
    expect(folder(lab).sort()).toEqual(['.pontoon.installed', 'bridge', 'host-local', 'pontoon'])
    const bare = ['setpriv', '--inh-caps=-all', '--bounding-set=-all', '/opt/cni/bin/pontoon']
    expect(lab.run([...bare, 'install', '--dir', FOLDER, '--as', 'bridge'])).toMatchObject({ status: 0, stderr: '' })
  })

  test('what somebody changed since is left alone', async () => {
    const lab = await openLab(executable)
    expect(install(lab, '--as', 'bridge', '--conflist', CONFLIST).status).toBe(0)
    for (const name of ['pontoon', 'bridge']) lab.must('rm', `${FOLDER}/${name}`)
    for (const name of ['pontoon', 'bridge']) write(lab, `${FOLDER}/${name}`, 'theirs')
    write(lab, CONFLIST, list('10.8.0.0/24'))
    expect(uninstall(lab).stdout.match(/left as it is/g)).toHaveLength(3)
    expect(files(lab, FOLDER)).toEqual({ [`${FOLDER}/bridge`]: 'theirs', [`${FOLDER}/pontoon`]: 'theirs' })
  })

  test('a folder that is full keeps what it had', async () => {
    const lab = await openLab(executable)
    lab.must('mkdir', FOLDER)
    lab.must('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', FOLDER)
    write(lab, `${FOLDER}/pontoon`, 'old')
    expect(install(lab)).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('ENOSPC') })
    expect(files(lab, FOLDER)).toEqual({ [`${FOLDER}/pontoon`]: 'old' })
  })

  test('words that are not understood are told on stderr, status 2', async () => {
    const lab = await openLab(executable)
    for (const words of [
      ['instal'],
      ['install', '--nope'],
      ['install', '--as', 'portmap'],
      ['install', 'x'],
      ['install', '--every', '0'],
    ]) {
      expect(pontoon(lab, ...words)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(/./) })
    }
    expect(pontoon(lab, 'instal').stderr).toContain('did you mean `install`?')
    expect(pontoon(lab, 'foo').stderr).not.toContain('did you mean')
    expect(pontoon(lab, 'doctor', '--help').stdout).toMatch(/^ {2}pontoon doctor \[flags\] \[conflist…\]$/m)
    expect(pontoon(lab, 'install', '--dir', 'here')).toMatchObject({ status: 1, stdout: '' })
    expect(pontoon(lab, '--help')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ {2}install {2,}/m) })
    expect(pontoon(lab, 'install', '--help').stdout).toContain('EXAMPLES')
  })
})
