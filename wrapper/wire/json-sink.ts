// SPDX-License-Identifier: Apache-2.0
import type { Range } from './fields.js'
import { Growing } from './growing.js'

const encoder = new TextEncoder()

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPENING = { '{': 0x7b, '[': 0x5b } as const
const CLOSING = { '}': 0x7d, ']': 0x5d } as const

interface Mark {
  readonly used: number
  readonly isFirst: boolean
}

/**
 * Writes JSON and adds the commas between members and elements. It builds no tree of objects, which would be some hundreds
 * per event for a slice of 30 endpoints.
 */
export class JsonSink extends Growing {
  #isFirst = true

  open(bracket: keyof typeof OPENING): this {
    this.#comma()
    this.#byte(OPENING[bracket])
    this.#isFirst = true
    return this
  }

  close(bracket: keyof typeof CLOSING): this {
    this.#byte(CLOSING[bracket])
    this.#isFirst = false
    return this
  }

  /** A key with its quotes and its colon, in ASCII; its value comes next. */
  key(json: string): this {
    this.#comma()
    this.#ascii(json)
    this.#isFirst = true
    return this
  }

  /** A value, or whole members, in ASCII. */
  ascii(json: string): this {
    this.#comma()
    this.#ascii(json)
    this.#isFirst = false
    return this
  }

  /** A value of any kind. */
  value(value: unknown): this {
    this.#comma()
    this.copy(encoder.encode(JSON.stringify(value)))
    this.#isFirst = false
    return this
  }

  /** A value that is JSON already. */
  raw(json: string): this {
    this.#comma()
    this.copy(encoder.encode(json))
    this.#isFirst = false
    return this
  }

  /** UTF-8 text, between quotes. Invalid UTF-8 becomes U+FFFD, as in Go. */
  text(raw: Buffer, { start, end }: Range): this {
    this.#comma()
    if (!this.#plain(raw, start, end))
      this.copy(encoder.encode(JSON.stringify(raw.toString('utf8', start, end))))
    this.#isFirst = false
    return this
  }

  /** The text before was a key; its value follows. */
  colon(): this {
    this.#byte(COLON)
    this.#isFirst = true
    return this
  }

  /** The present position, for `back`. */
  get mark(): Mark {
    return { used: this.used, isFirst: this.#isFirst }
  }

  /** Discard what was written since the mark. */
  back({ used, isFirst }: Mark): void {
    this.used = used
    this.#isFirst = isFirst
  }

  /** Text that needs no escapes; false when it does. */
  #plain(raw: Buffer, from: number, to: number): boolean {
    this.reserve(to - from + 2)
    const { memory } = this
    let at = this.used
    memory[at++] = QUOTE
    for (let place = from; place < to; place++) {
      const byte = raw[place]!
      if (byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === BACKSLASH) return false
      memory[at++] = byte
    }
    memory[at++] = QUOTE
    this.used = at
    return true
  }

  #comma(): void {
    if (!this.#isFirst) this.#byte(COMMA)
  }

  #byte(byte: number): void {
    this.reserve(1)
    this.memory[this.used++] = byte
  }

  #ascii(text: string): void {
    this.reserve(text.length)
    for (let place = 0; place < text.length; place++)
      this.memory[this.used++] = text.charCodeAt(place)
  }
}
