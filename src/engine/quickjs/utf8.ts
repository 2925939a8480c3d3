/**
 * UTF-8 for an engine without TextDecoder and TextEncoder, as https://encoding.spec.whatwg.org/#utf-8-decoder has it,
 * so that both engines replace the same bytes. A byte order mark is kept.
 *
 * Nearly all that is ever read or written is plain ASCII: that is left to `native`.
 */

export interface Decoder {
  /** The characters that are complete with these bytes; the rest waits for more. */
  push(bytes: Uint8Array<ArrayBuffer>): string
  /** What an unfinished character at the end stands for. */
  end(): string
}

/** It steps through the bytes from the first piece on that is not plain ASCII. */
export function createDecoder(): Decoder {
  let stepping: Decoder | undefined
  return {
    push(bytes) {
      const plain = stepping ? undefined : native.text(bytes.buffer, bytes.byteOffset, bytes.length)
      if (plain !== undefined) return plain
      stepping ??= createSteppingDecoder()
      return stepping.push(bytes)
    },
    end: () => stepping?.end() ?? '',
  }
}

function createSteppingDecoder(): Decoder {
  let needed = 0
  let point = 0
  let lower = 0x80
  let upper = 0xbf

  const begin = (byte: number, count: number, low = 0x80, high = 0xbf): void => {
    needed = count
    point = byte
    lower = low
    upper = high
  }

  const step = (byte: number): string => {
    if (needed === 0) {
      if (byte < 0x80) return String.fromCharCode(byte)
      if (byte >= 0xc2 && byte <= 0xdf) begin(byte & 0x1f, 1)
      else if (byte >= 0xe0 && byte <= 0xef)
        begin(byte & 0xf, 2, byte === 0xe0 ? 0xa0 : 0x80, byte === 0xed ? 0x9f : 0xbf)
      else if (byte >= 0xf0 && byte <= 0xf4)
        begin(byte & 7, 3, byte === 0xf0 ? 0x90 : 0x80, byte === 0xf4 ? 0x8f : 0xbf)
      else return '\ufffd'
      return ''
    }
    if (byte < lower || byte > upper) {
      needed = 0
      return `\ufffd${step(byte)}`
    }
    begin((point << 6) | (byte & 0x3f), needed - 1)
    return needed === 0 ? String.fromCodePoint(point) : ''
  }

  return {
    push(bytes) {
      let text = ''
      for (const byte of bytes) text += step(byte)
      return text
    },
    end() {
      const text = needed === 0 ? '' : '\ufffd'
      needed = 0
      return text
    },
  }
}

export function decode(bytes: Uint8Array<ArrayBuffer>): string {
  const decoder = createDecoder()
  return decoder.push(bytes) + decoder.end()
}

/** An unpaired surrogate becomes U+FFFD. */
export function encode(text: string): Uint8Array<ArrayBuffer> {
  return native.bytes(text) ?? encodeAll(text)
}

function encodeAll(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 3)
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) {
      bytes[length++] = unit
    } else if (unit < 0x800) {
      bytes[length++] = 0xc0 | (unit >> 6)
      bytes[length++] = 0x80 | (unit & 0x3f)
    } else if (unit < 0xd800 || unit > 0xdfff) {
      length = putThree(bytes, length, unit)
    } else {
      const point = text.codePointAt(i) as number
      if (point > 0xffff) {
        i++
        bytes[length++] = 0xf0 | (point >> 18)
        bytes[length++] = 0x80 | ((point >> 12) & 0x3f)
        bytes[length++] = 0x80 | ((point >> 6) & 0x3f)
        bytes[length++] = 0x80 | (point & 0x3f)
      } else {
        length = putThree(bytes, length, 0xfffd)
      }
    }
  }
  return bytes.subarray(0, length)
}

function putThree(bytes: Uint8Array, at: number, point: number): number {
  bytes[at] = 0xe0 | (point >> 12)
  bytes[at + 1] = 0x80 | ((point >> 6) & 0x3f)
  bytes[at + 2] = 0x80 | (point & 0x3f)
  return at + 3
}
