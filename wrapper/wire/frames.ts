// SPDX-License-Identifier: Apache-2.0

export interface Frame {
  /** `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`. */
  readonly type: string
  /** A whole `k8s\0` body. */
  readonly body: Uint8Array
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/** A watch event as it goes over the wire: four bytes of length, then the event around a whole `k8s\0` body. */
export const watchFrame = (_type: string, _body: Uint8Array): Uint8Array => later()

/** Puts the frames of a protobuf watch together again, wherever the chunks were cut. */
export class FrameReader {
  readonly #maxBytes: number

  /** @param maxBytes a longer frame is refused, before anything is allocated for it */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes of a frame that has not ended yet. */
  get pending(): number {
    return this.#maxBytes - this.#maxBytes
  }

  /** The frames that this chunk completes. @throws WireError */
  push(_chunk: Uint8Array): readonly Frame[] {
    return later()
  }
}
