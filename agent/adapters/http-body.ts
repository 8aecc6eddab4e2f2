// SPDX-License-Identifier: Apache-2.0

/** Finds the end of a body as its bytes arrive; nothing of it is kept. */
export interface BodyEnd {
  /** Nothing of it is missing. */
  readonly isReached: boolean
  /** @throws Error with the code HPE_INVALID_BODY for bytes that cannot be part of it */
  push(bytes: Buffer): void
}

/** A chunk's size with its extensions, or a trailer. */
const LINE_LIMIT = 1_024
const CHUNK_SIZE = /^([0-9a-f]{1,8})(?:[ \t]*;.*)?$/i

const badBody = (why: string): Error =>
  Object.assign(new Error(`the body is not HTTP/1: ${why}`), { code: 'HPE_INVALID_BODY' })

const tooMuch = (): Error => badBody('it is longer than was announced')

/** @param length in bytes, as Content-Length says */
export const endAfter = (length: number): BodyEnd => {
  let left = length
  return {
    get isReached() {
      return left === 0
    },
    push: bytes => {
      left -= bytes.length
      if (left < 0) throw tooMuch()
    },
  }
}

/** Of a body that ends with its connection. */
export const endWithConnection = (): BodyEnd => ({ isReached: false, push: () => undefined })

/** Of a body in chunks (RFC 9112, section 7.1). */
export class ChunkedEnd implements BodyEnd {
  #line = ''
  /** Of the chunk that arrives, with the line break after it. */
  #chunkLeft = 0
  #isTrailer = false
  #isReached = false

  get isReached(): boolean {
    return this.#isReached
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#isReached) throw tooMuch()
      at += this.#chunkLeft > 0 ? this.#readChunk(bytes.length - at) : this.#readLine(bytes, at)
    }
  }

  #readChunk(most: number): number {
    const read = Math.min(this.#chunkLeft, most)
    this.#chunkLeft -= read
    return read
  }

  #readLine(bytes: Buffer, from: number): number {
    const lineBreak = bytes.indexOf('\n', from)
    const end = lineBreak < 0 ? bytes.length : lineBreak + 1
    this.#line += bytes.toString('latin1', from, end)
    if (this.#line.length > LINE_LIMIT) throw badBody('a line of it has no end')
    if (lineBreak >= 0) this.#endLine()
    return end - from
  }

  #endLine(): void {
    const line = this.#line.replace(/\r?\n$/, '')
    this.#line = ''
    if (this.#isTrailer) {
      this.#isReached = line === ''
      return
    }
    const [, digits] = CHUNK_SIZE.exec(line) ?? []
    if (digits === undefined) throw badBody('a chunk has no size')
    const size = Number.parseInt(digits, 16)
    this.#isTrailer = size === 0
    this.#chunkLeft = size === 0 ? 0 : size + '\r\n'.length
  }
}
