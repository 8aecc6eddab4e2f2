// SPDX-License-Identifier: Apache-2.0
import { behindBy, digestOf, isBehind, OLDEST_MS, type KnownStatement } from './entries.js'

/** How much a peer knows, and what is news to it. */
export interface PeerKnowledge {
  /** Its digests, by place; undefined for nothing. */
  readonly seen: Uint8Array | undefined
  /** `Clock.now`. */
  readonly now: number
  /** As in `newsFor`. */
  readonly least: number
}

/**
 * How much is known of each member, by place, as columns: each exchange compares all of it with what a peer knows, which
 * would take ten times as long with objects.
 */
export class Digests {
  /** When the member last showed that it still says so; −Infinity where nothing is known. */
  readonly #madeAt: Float64Array
  /** As `digestOf` says while it is recent. */
  readonly #digest: Uint8Array
  /** Quarters of a second since the statement's time. */
  readonly #quarters: Float64Array

  constructor(size: number) {
    this.#madeAt = new Float64Array(size).fill(-Infinity)
    this.#digest = new Uint8Array(size)
    this.#quarters = new Float64Array(size)
  }

  /** What is known of this member now; undefined for nothing. */
  set(place: number, known: KnownStatement | undefined): void {
    this.#madeAt[place] = known?.madeAt ?? -Infinity
    this.#digest[place] = known === undefined ? 0 : digestOf(known, known.madeAt)
    this.#quarters[place] = known?.progress.quarters ?? 0
  }

  /** `digestOf` for each place. */
  bytes(now: number): Buffer {
    const out = Buffer.from(this.#digest)
    for (let place = 0; place < out.length; place++)
      if (now - this.#madeAt[place]! > OLDEST_MS) out[place] = 0
    return out
  }

  /**
   * The places of which `newsFor` has anything for a peer with these digests, ascending.
   * @param always listed whatever is known of it
   */
  placesOfNews({ seen, now, least }: PeerKnowledge, always?: number): number[] {
    const places: number[] = []
    for (let place = 0; place < this.#digest.length; place++) {
      const theirs = seen === undefined ? 0 : seen[place]!
      const isNews = theirs !== this.#digest[place] && this.#hasNews(place, theirs, now, least)
      if (isNews || place === always) places.push(place)
    }
    return places
  }

  #hasNews(place: number, digest: number, now: number, least: number): boolean {
    const ours = this.#digest[place]!
    if (digest === 0 || ours === 0) return ours !== 0
    if (now - this.#madeAt[place]! > OLDEST_MS) return false
    return isBehind(behindBy(digest, ours), this.#quarters[place]!, least)
  }
}
