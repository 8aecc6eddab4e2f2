// SPDX-License-Identifier: Apache-2.0
import type { BodyWriter } from './envelope.js'
import { BYTES, Fields } from './fields.js'
import { Sink, varintSize } from './sink.js'
import { WireError } from './wire-error.js'

export interface Frame {
  /** `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`. */
  readonly type: string
  /** A whole `k8s\0` body. */
  readonly body: Uint8Array
}

const HEADER = 4
const TYPE = 1
const OBJECT = 2
const RAW = 1
const NO_LENGTH = new Uint8Array(HEADER)

/**
 * A watch event on the wire: a length of four bytes, then the event with a whole `k8s\0` body, all written into one buffer.
 */
export const watchFrameOf = (type: string, body: BodyWriter): Uint8Array => {
  const inner = 1 + varintSize(body.size) + body.size
  // Types are short and ASCII.
  const size = 2 + type.length + 1 + varintSize(inner) + inner
  const event = new Sink(HEADER + size)
    .copy(NO_LENGTH)
    .text(TYPE, type)
    .varint(OBJECT * 8 + BYTES)
    .varint(inner)
    .varint(RAW * 8 + BYTES)
    .varint(body.size)
  const frame = body.write(event).take()
  new DataView(frame.buffer, frame.byteOffset).setUint32(0, size)
  return frame
}

/** As `watchFrameOf`, with an existing body. */
export const watchFrame = (type: string, body: Uint8Array): Uint8Array =>
  watchFrameOf(type, { size: body.length, write: sink => sink.copy(body) })

const readObject = (object: Fields): Uint8Array | undefined => {
  let body: Uint8Array | undefined
  while (object.next()) if (object.number === RAW) body = object.content()
  return body
}

const readFrame = (bytes: Uint8Array): Frame => {
  let type = ''
  let body: Uint8Array | undefined
  const fields = new Fields(bytes)
  while (fields.next()) {
    if (fields.number === TYPE) type = fields.text()
    else if (fields.number === OBJECT) body = readObject(fields.inside())
  }
  if (type === '' || body === undefined)
    throw new WireError('watch frame', 'must have a type and an object')
  return { type, body }
}

/**
 * Reassembles the frames of a protobuf watch from chunks. Each frame has its own memory, so that keeping its body keeps
 * nothing else alive. It must not be used after a WireError.
 */
export class FrameReader {
  readonly #maxBytes: number
  readonly #header = new Uint8Array(HEADER)
  #headerHas = 0
  #frame: Uint8Array | undefined
  #frameHas = 0

  /** @param maxBytes a longer frame is refused before memory is allocated for it */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes of an incomplete frame; 0 means that the stream may end here. */
  get pending(): number {
    return this.#headerHas + this.#frameHas
  }

  /** The frames that this chunk completes. @throws WireError */
  push(chunk: Uint8Array): readonly Frame[] {
    const frames: Frame[] = []
    let at = 0
    while (at < chunk.length) {
      at +=
        this.#frame === undefined ? this.#fillHeader(chunk, at) : this.#fill(this.#frame, chunk, at)
      if (this.#frame?.length !== this.#frameHas) continue
      frames.push(readFrame(this.#frame))
      this.#frame = undefined
      this.#frameHas = 0
      this.#headerHas = 0
    }
    return frames
  }

  /** Take bytes of the length; when that is complete, allocate the frame. */
  #fillHeader(chunk: Uint8Array, at: number): number {
    const part = chunk.subarray(at, at + HEADER - this.#headerHas)
    this.#header.set(part, this.#headerHas)
    this.#headerHas += part.length
    if (this.#headerHas === HEADER) {
      const length = new DataView(this.#header.buffer).getUint32(0)
      if (length > this.#maxBytes)
        throw new WireError('watch frame', `must have at most ${this.#maxBytes} bytes`)
      this.#frame = new Uint8Array(length)
    }
    return part.length
  }

  #fill(frame: Uint8Array, chunk: Uint8Array, at: number): number {
    const part = chunk.subarray(at, at + frame.length - this.#frameHas)
    frame.set(part, this.#frameHas)
    this.#frameHas += part.length
    return part.length
  }
}
