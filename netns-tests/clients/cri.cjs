#!/usr/bin/env node
// cri.cjs - a small client of the container runtime interface (what the kubelet speaks).
// Node alone, no package: the messages are read from the Kubernetes api.proto, the calls are HTTP/2.
//   CRI_SOCK=/run/x.sock CRI_PROTO=.../api.proto node cri.cjs COMMAND ...
//   version | status | list
//   cidr CIDR[,CIDR]             UpdateRuntimeConfig, as the kubelet sends the node's pod CIDRs
//   run [OPTIONS] NAME           RunPodSandbox; prints {id, ms}
//   pod ID                       PodSandboxStatus; prints {state, ips, netns, result, attempt}
//   stop ID... | remove ID...    in parallel; prints {ms, errors}
//   many [OPTIONS] N PREFIX      N RunPodSandbox at once, then PodSandboxStatus; prints {ms, each, pods, errors}
//   bench [OPTIONS] N            one sandbox after the other; prints the times of run, stop and remove
//   ctr SANDBOXID NAME CMD...    CreateContainer and StartContainer in a sandbox; prints {id}
//   exec CONTAINERID CMD...      ExecSync
// Options of run, many and bench: --host (no network of its own), --port HOST:POD (host port),
//   --ann KEY=VALUE, --ns NAMESPACE, --uid UID, --attempt N, --dns SERVER
'use strict'
const http2 = require('node:http2')
const net = require('node:net')

const { api, encode, decode } = require('./proto.cjs')

// ---- gRPC: one HTTP/2 request a call, over the unix socket
function connect() {
  const session = http2.connect('http://localhost', { createConnection: () => net.connect(process.env.CRI_SOCK) })
  session.on('error', () => {})
  return {
    close: () => session.close(),
    call: (method, request) =>
      new Promise((resolve, reject) => {
        const [q, r] = api.services.RuntimeService[method]
        const m = encode(q, request)
        const head = Buffer.alloc(5)
        head.writeUInt32BE(m.length, 1)
        const s = session.request({
          ':method': 'POST',
          ':path': `/${api.pkg}.RuntimeService/${method}`,
          'content-type': 'application/grpc',
          te: 'trailers',
        })
        const data = []
        let status = {}
        s.setTimeout(300000, () => {
          s.close()
          reject(new Error(`${method}: no answer in 300 s`))
        })
        s.on('response', (h) => {
          if (h['grpc-status'] !== undefined) status = h
        })
        s.on('trailers', (h) => {
          status = h
        })
        s.on('data', (d) => data.push(d))
        s.on('error', reject)
        s.on('close', () => {
          if (String(status['grpc-status']) !== '0') {
            reject(
              Object.assign(new Error(`${method} failed`), {
                details: status['grpc-message'] ? decodeURIComponent(status['grpc-message']) : 'no answer',
                code: Number(status['grpc-status']),
              }),
            )
            return
          }
          resolve(decode(r, Buffer.concat(data).subarray(5)))
        })
        s.end(Buffer.concat([head, m]))
      }),
  }
}
const client = connect()
const call = client.call
const ms = (t) => Math.round(Number(process.hrtime.bigint() - t) / 1e4) / 100
const print = (x) => console.log(JSON.stringify(x))
const CG = process.env.CRI_CGROUP || '/cri-client'
const IMAGE = process.env.CRI_IMAGE || 'localhost/busybox:1'

function options(args) {
  const o = { annotations: {}, ports: [], ns: 'default', attempt: 0 }
  const rest = []
  for (let i = 0; i < args.length; i++) {
    const a = args[i]
    if (a === '--host') o.host = true
    else if (a === '--port') {
      const [h, c] = args[++i].split(':').map(Number)
      o.ports.push({ protocol: 'TCP', container_port: c, host_port: h })
    } else if (a === '--ann') {
      const [k, ...v] = args[++i].split('=')
      o.annotations[k] = v.join('=')
    } else if (a === '--ns') o.ns = args[++i]
    else if (a === '--uid') o.uid = args[++i]
    else if (a === '--attempt') o.attempt = Number(args[++i])
    else if (a === '--dns') o.dns = args[++i]
    else rest.push(a)
  }
  return [o, rest]
}
function podConfig(name, o) {
  const c = {
    metadata: { name, uid: o.uid || `uid-${name}`, namespace: o.ns, attempt: o.attempt },
    hostname: o.host ? '' : name,
    log_directory: '',
    labels: {
      'io.kubernetes.pod.name': name,
      'io.kubernetes.pod.namespace': o.ns,
      'io.kubernetes.pod.uid': o.uid || `uid-${name}`,
    },
    annotations: o.annotations,
    port_mappings: o.ports,
    linux: {
      cgroup_parent: CG,
      security_context: { namespace_options: { network: o.host ? 'NODE' : 'POD', pid: 'CONTAINER', ipc: 'POD' } },
    },
  }
  if (o.dns) c.dns_config = { servers: [o.dns], searches: ['default.svc.cluster.local'], options: ['ndots:5'] }
  return c
}
async function run(name, o) {
  const t = process.hrtime.bigint()
  const r = await call('RunPodSandbox', { config: podConfig(name, o), runtime_handler: '' })
  return { id: r.pod_sandbox_id, ms: ms(t) }
}
async function pod(id) {
  const r = await call('PodSandboxStatus', { pod_sandbox_id: id, verbose: true })
  const n = r.status.network || { ip: '', additional_ips: [] }
  const info = r.info?.info ? JSON.parse(r.info.info) : {}
  const spec = info.runtimeSpec || {}
  const ns = (spec.linux?.namespaces || []).find((x) => x.type === 'network')
  return {
    id,
    state: r.status.state,
    attempt: r.status.metadata.attempt,
    ips: [n.ip, ...n.additional_ips.map((x) => x.ip)].filter(Boolean),
    netns: ns ? ns.path : '',
    pid: info.pid,
    result: info.cniResult || null,
  }
}
async function all(method, ids) {
  const t = process.hrtime.bigint()
  const errors = []
  await Promise.all(
    ids.map((id) => call(method, { pod_sandbox_id: id }).catch((e) => errors.push(e.details || e.message))),
  )
  return { ms: ms(t), errors }
}
const commands = {
  version: async () => print(await call('Version', { version: 'v1' })),
  status: async () => {
    const r = await call('Status', { verbose: true })
    print({
      conditions: Object.fromEntries(r.status.conditions.map((c) => [c.type, c.status])),
      message: r.status.conditions
        .map((c) => c.message)
        .filter(Boolean)
        .join('; '),
      info: r.info ? Object.keys(r.info) : [],
      lastCNILoadStatus: r.info && (r.info.lastCNILoadStatus || r.info['lastCNILoadStatus.default']),
    })
  },
  list: async () =>
    print((await call('ListPodSandbox', {})).items.map((x) => ({ id: x.id, name: x.metadata.name, state: x.state }))),
  cidr: async (a) => {
    await call('UpdateRuntimeConfig', { runtime_config: { network_config: { pod_cidr: a[0] } } })
    print({})
  },
  run: async (a) => {
    const [o, r] = options(a)
    print(await run(r[0], o))
  },
  pod: async (a) => print(await pod(a[0])),
  stop: async (a) => {
    const r = await all('StopPodSandbox', a)
    print(r)
    if (r.errors.length) process.exitCode = 1
  },
  remove: async (a) => {
    const r = await all('RemovePodSandbox', a)
    print(r)
    if (r.errors.length) process.exitCode = 1
  },
  many: async (a) => {
    const [o, [n, prefix]] = options(a)
    const errors = []
    const t = process.hrtime.bigint()
    const started = (
      await Promise.all(
        Array.from({ length: Number(n) }, (_, i) =>
          run(`${prefix}-${i}`, o).catch((e) => {
            errors.push(e.details || e.message)
            return null
          }),
        ),
      )
    ).filter(Boolean)
    const total = ms(t)
    const pods = await Promise.all(started.map((x) => pod(x.id)))
    const each = started.map((x) => x.ms).sort((x, y) => x - y)
    print({
      ms: total,
      each: { min: each[0], median: each[each.length >> 1], max: each[each.length - 1] },
      pods: pods.map(({ id, state, ips }) => ({ id, state, ips })),
      errors,
    })
    if (errors.length) process.exitCode = 1
  },
  bench: async (a) => {
    const [o, [n]] = options(a)
    const t = { run: [], stop: [], remove: [] }
    for (let i = 0; i < Number(n); i++) {
      const r = await run(`bench-${process.pid}-${i}`, o)
      t.run.push(r.ms)
      for (const [k, m] of [
        ['stop', 'StopPodSandbox'],
        ['remove', 'RemovePodSandbox'],
      ]) {
        const s = process.hrtime.bigint()
        await call(m, { pod_sandbox_id: r.id })
        t[k].push(ms(s))
      }
    }
    const stat = (l) => {
      const s = [...l].sort((x, y) => x - y)
      return { min: s[0], median: s[s.length >> 1], max: s[s.length - 1] }
    }
    print({ n: Number(n), run: stat(t.run), stop: stat(t.stop), remove: stat(t.remove) })
  },
  ctr: async ([sid, name, ...command]) => {
    const p = await call('PodSandboxStatus', { pod_sandbox_id: sid, verbose: false })
    const sandbox = podConfig(p.status.metadata.name, {
      annotations: {},
      ports: [],
      ns: p.status.metadata.namespace,
      uid: p.status.metadata.uid,
      attempt: p.status.metadata.attempt,
    })
    const r = await call('CreateContainer', {
      pod_sandbox_id: sid,
      config: { metadata: { name, attempt: 0 }, image: { image: IMAGE }, command, linux: {} },
      sandbox_config: sandbox,
    })
    await call('StartContainer', { container_id: r.container_id })
    print({ id: r.container_id })
  },
  exec: async ([id, ...cmd]) => {
    const r = await call('ExecSync', { container_id: id, cmd, timeout: 20 })
    process.stdout.write(r.stdout)
    process.stderr.write(r.stderr)
    process.exitCode = r.exit_code
  },
}
const [name, ...args] = process.argv.slice(2)
if (!commands[name]) {
  console.error(`unknown command: ${name}`)
  process.exit(2)
}
commands[name](args).then(
  () => client.close(),
  (e) => {
    console.error(`${name}: ${e.details || e.stack}`)
    process.exit(1)
  },
)
