// SPDX-License-Identifier: Apache-2.0
import type { Seen } from '../store/change-cursor.js'
import { servedBytes } from '../store/stored.js'
import type { Change } from '../store/history.js'
import type { Format } from './formats.js'

const MOST_BYTES = 4 * 1024 * 1024

/** Encoded events, each encoded once per format for all watches that keep up with each other. */
export class Frames {
  readonly #frames = new Map<Change, Map<string, Uint8Array>>()
  #bytes = 0
  /** How many had to be encoded. */
  written = 0

  of({ type, record, version, change }: Seen, format: Format): Uint8Array {
    const name = `${type} ${format.id}`
    const known = this.#frames.get(change)?.get(name)
    if (known !== undefined) return known
    const frame = format.event(type, servedBytes(record, version))
    this.written++
    this.#keep(change, name, frame)
    return frame
  }

  /** Called when no watch needs them any more. */
  forget(): void {
    this.#frames.clear()
    this.#bytes = 0
  }

  #keep(change: Change, name: string, frame: Uint8Array): void {
    const frames = this.#frames.get(change)
    if (frames === undefined) this.#frames.set(change, new Map([[name, frame]]))
    else frames.set(name, frame)
    this.#bytes += frame.length
    for (const [oldest, gone] of this.#frames) {
      if (this.#bytes <= MOST_BYTES) return
      this.#frames.delete(oldest)
      for (const { length } of gone.values()) this.#bytes -= length
    }
  }
}
