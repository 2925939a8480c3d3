// The messages of the CRI, read from the Kubernetes api.proto that CRI_PROTO names: encoded to and decoded from protobuf.
'use strict'
const fs = require('node:fs')

// As much of proto3 as that file uses.
function parseProto(text) {
  const tok = text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, ' ').match(/"[^"]*"|[\w.]+|[{}=;<>,()[\]-]/g)
  const messages = {}
  const enums = {}
  const services = {}
  let i = 0
  let pkg = ''
  const skip = () => {
    let d = 0
    for (;;) {
      const t = tok[i++]
      if (t === '{') d++
      else if (t === '}') {
        if (--d === 0) return
      } else if (t === ';' && d === 0) return
    }
  }
  const field = (m, label) => {
    let type = tok[i++]
    let key = null
    if (type === 'map') {
      i++
      key = tok[i++]
      i++
      type = tok[i++]
      i++
    }
    const name = tok[i++]
    i++
    const id = Number(tok[i++])
    while (tok[i++] !== ';');
    m[id] = { id, name, type, key, repeated: label === 'repeated' }
  }
  const body = (name) => {
    const m = {}
    messages[name] = m
    i++
    while (tok[i] !== '}') {
      if (tok[i] === 'message') {
        i++
        body(tok[i++])
      } else if (tok[i] === 'enum') {
        i++
        enumBody(tok[i++])
      } else if (tok[i] === 'oneof') {
        i += 3
        while (tok[i] !== '}') field(m)
        i++
      } else if (tok[i] === 'reserved' || tok[i] === 'option') skip()
      else if (tok[i] === 'repeated' || tok[i] === 'optional') field(m, tok[i++])
      else field(m)
    }
    i++
  }
  const enumBody = (name) => {
    const e = {}
    enums[name] = e
    i++
    while (tok[i] !== '}') {
      if (tok[i] === 'option' || tok[i] === 'reserved') {
        skip()
        continue
      }
      const k = tok[i++]
      i++
      e[k] = Number(tok[i++])
      while (tok[i++] !== ';');
    }
    i++
  }
  while (i < tok.length) {
    const t = tok[i++]
    if (t === 'package') {
      pkg = tok[i++]
      i++
    } else if (t === 'message') body(tok[i++])
    else if (t === 'enum') enumBody(tok[i++])
    else if (t === 'service') {
      const s = {}
      services[tok[i++]] = s
      i++
      while (tok[i] !== '}') {
        i++
        const n = tok[i++]
        i++
        if (tok[i] === 'stream') i++
        const q = tok[i++]
        i += 3
        const stream = tok[i] === 'stream'
        if (stream) i++
        const r = tok[i++]
        i++
        s[n] = [q, r, stream]
        if (tok[i] === '{') skip()
        else i++
      }
      i++
    } else skip()
  }
  return { pkg, messages, enums, services }
}
const api = parseProto(fs.readFileSync(process.env.CRI_PROTO, 'utf8'))
function varint(out, n) {
  let v = BigInt.asUintN(64, BigInt(n))
  while (v > 127n) {
    out.push(Number(v & 127n) | 128)
    v >>= 7n
  }
  out.push(Number(v))
}
function encodeValue(out, f, type, v) {
  if (type === 'string' || type === 'bytes' || api.messages[type]) {
    const b = api.messages[type] ? encode(type, v) : Buffer.from(v)
    varint(out, (f << 3) | 2)
    varint(out, b.length)
    for (const x of b) out.push(x)
  } else if (type === 'double') {
    varint(out, (f << 3) | 1)
    const b = Buffer.alloc(8)
    b.writeDoubleLE(v)
    out.push(...b)
  } else {
    varint(out, f << 3)
    varint(out, api.enums[type] ? (typeof v === 'string' ? api.enums[type][v] : v) : Number(v))
  }
}
function encode(type, o) {
  const out = []
  for (const f of Object.values(api.messages[type])) {
    const v = o[f.name]
    if (v === undefined || v === null) continue
    if (f.key)
      for (const [k, x] of Object.entries(v)) {
        const e = []
        encodeValue(e, 1, f.key, k)
        encodeValue(e, 2, f.type, x)
        varint(out, (f.id << 3) | 2)
        varint(out, e.length)
        out.push(...e)
      }
    else if (f.repeated) for (const x of v) encodeValue(out, f.id, f.type, x)
    else encodeValue(out, f.id, f.type, v)
  }
  return Buffer.from(out)
}
const zero = (type) =>
  type === 'string'
    ? ''
    : type === 'bool'
      ? false
      : type === 'bytes'
        ? Buffer.alloc(0)
        : api.messages[type]
          ? null
          : api.enums[type]
            ? Object.keys(api.enums[type])[0]
            : 0
function decode(type, b) {
  const o = {}
  let p = 0
  for (const f of Object.values(api.messages[type])) o[f.name] = f.key ? {} : f.repeated ? [] : zero(f.type)
  const num = () => {
    let v = 0n
    let s = 0n
    for (;;) {
      const x = b[p++]
      v |= BigInt(x & 127) << s
      if (x < 128) return v
      s += 7n
    }
  }
  const value = (t, wire) => {
    if (wire === 2) {
      const n = Number(num())
      const s = b.subarray(p, p + n)
      p += n
      return !t ? s : t === 'string' ? s.toString() : t === 'bytes' ? s : api.messages[t] ? decode(t, s) : s
    }
    if (wire === 1) {
      p += 8
      return b.readDoubleLE(p - 8)
    }
    if (wire === 5) {
      p += 4
      return b.readFloatLE(p - 4)
    }
    const v = num()
    if (t === 'bool') return v !== 0n
    if (t && api.enums[t]) {
      const e = Object.entries(api.enums[t]).find(([, x]) => x === Number(v))
      return e ? e[0] : Number(v)
    }
    return Number(BigInt.asIntN(64, v))
  }
  while (p < b.length) {
    const tag = Number(num())
    const f = api.messages[type][tag >> 3]
    const wire = tag & 7
    if (!f) {
      value(null, wire)
      continue
    }
    if (f.key) {
      const e = value('bytes', 2)
      const sub = decodeEntry(f, e)
      o[f.name][sub[0]] = sub[1]
      continue
    }
    if (f.repeated && wire === 2 && !api.messages[f.type] && f.type !== 'string' && f.type !== 'bytes') {
      const end = Number(num()) + p
      while (p < end) o[f.name].push(value(f.type, 0))
      continue
    }
    const v = value(f.type, wire)
    if (f.repeated) o[f.name].push(v)
    else o[f.name] = v
  }
  return o
}
function decodeEntry(f, b) {
  // a map entry is a message of two fields
  api.messages['\0'] = { 1: { id: 1, name: 'k', type: f.key }, 2: { id: 2, name: 'v', type: f.type } }
  const e = decode('\0', b)
  return [e.k, e.v]
}

module.exports = { api, encode, decode }
