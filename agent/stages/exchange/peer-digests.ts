// SPDX-License-Identifier: Apache-2.0
import { OLDEST_MS } from '../../identity/entries.js'
import type { PeerState } from './peer-state.js'

interface PeerDigest {
  readonly bytes: Uint8Array
  readonly at: number
}

/**
 * How much each peer knows of each member, by place, as it last reported. A report is dropped before its bytes, which are
 * times modulo a number, could be taken for later times.
 */
export class PeerDigests {
  readonly #size: number
  /** The oldest first. */
  readonly #reports = new Map<PeerState, PeerDigest>()

  constructor(size: number) {
    this.#size = size
  }

  /** Undefined where the peer has not reported lately. */
  of(peer: PeerState, now: number): Uint8Array | undefined {
    this.#forget(now)
    return this.#reports.get(peer)?.bytes
  }

  /** Store the peer's report. @param bytes copied */
  set(peer: PeerState, bytes: Uint8Array, now: number): void {
    this.#forget(now)
    this.#reports.delete(peer)
    this.#reports.set(peer, { bytes: new Uint8Array(bytes), at: now })
  }

  /** The peer's digest, for writing; it begins as all 0 when the peer has not reported lately. */
  toUpdate(peer: PeerState, now: number): Uint8Array {
    const reported = this.of(peer, now)
    if (reported !== undefined) return reported
    const bytes = new Uint8Array(this.#size)
    this.#reports.set(peer, { bytes, at: now })
    return bytes
  }

  #forget(now: number): void {
    for (const [peer, { at }] of this.#reports) {
      if (now - at <= OLDEST_MS) return
      this.#reports.delete(peer)
    }
  }
}
