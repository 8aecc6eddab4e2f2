// SPDX-License-Identifier: Apache-2.0
import { DIGEST_STEPS, digestOf, OLDEST_MS, type KnownStatement } from './entries.js'

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
  /** When the member last proved that its statement still holds; −Infinity where nothing is known. */
  readonly #madeAt: Float64Array
  /** What `digestOf` returns while the statement is recent. */
  readonly #digest: Uint8Array
  /** Quarters of a second since the statement's time. */
  readonly #quarters: Float64Array
  /** Places whose digest is 0 because of its age, until something new is known of them. */
  readonly #old = new Set<number>()
  /** At most the smallest `madeAt` of all other places. */
  #oldest = Infinity

  constructor(size: number) {
    this.#madeAt = new Float64Array(size).fill(-Infinity)
    this.#digest = new Uint8Array(size)
    this.#quarters = new Float64Array(size)
  }

  /**
   * What is known of this member now; undefined for nothing.
   * @returns what `digestOf` returns while that is recent
   */
  set(place: number, known: KnownStatement | undefined): number {
    const digest = known === undefined ? 0 : digestOf(known, known.madeAt)
    const madeAt = known?.madeAt ?? -Infinity
    this.#madeAt[place] = madeAt
    if (madeAt < this.#oldest) this.#oldest = madeAt
    this.#old.delete(place)
    this.#digest[place] = digest
    this.#quarters[place] = known?.progress.quarters ?? 0
    return digest
  }

  /** `digestOf` for each place. @param now never earlier than in a previous call */
  bytes(now: number): Buffer {
    if (now - this.#oldest > OLDEST_MS) this.#findOld(now)
    const out = Buffer.from(this.#digest)
    for (const place of this.#old) out[place] = 0
    return out
  }

  #findOld(now: number): void {
    const madeAt = this.#madeAt
    let oldest = Infinity
    for (let place = 0; place < madeAt.length; place++) {
      const at = madeAt[place]!
      if (now - at > OLDEST_MS) this.#old.add(place)
      else if (at < oldest) oldest = at
    }
    this.#oldest = oldest
  }

  /**
   * The places about which `newsFor` has news for a peer with these digests, ascending. It compares as `newsFor` does,
   * without a call for each place.
   * @param always a place that is listed in any case
   */
  placesOfNews({ seen, now, least }: PeerKnowledge, always?: number): number[] {
    const places: number[] = []
    const digests = this.#digest
    for (let place = 0; place < digests.length; place++) {
      const theirs = seen === undefined ? 0 : seen[place]!
      const ours = digests[place]!
      if (place === always) places.push(place)
      else if (theirs === ours || ours === 0) continue
      else if (theirs === 0) places.push(place)
      else {
        const behind = (ours - theirs + DIGEST_STEPS) % DIGEST_STEPS
        if (behind > DIGEST_STEPS / 2) continue
        if (behind < least && behind <= this.#quarters[place]!) continue
        if (now - this.#madeAt[place]! <= OLDEST_MS) places.push(place)
      }
    }
    return places
  }
}
