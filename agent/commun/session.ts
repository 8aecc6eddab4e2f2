// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../core/random.js'

/** How far behind the newest request an older one may still arrive. */
const WINDOW = 32

/** 64 random bits, never 0: 0 means "none yet" on the wire. */
export const makeBoot = (random: Random): bigint => {
  for (;;) {
    const boot = random.bits64()
    if (boot !== 0n) return boot
  }
}

/** What to do with a request that is rightly signed. */
export type Admission = 'accepted' | 'challenged' | 'replayed'

/**
 * What a receiver remembers of one sender. It shows each sender a boot id made for it alone; a request must carry it
 * and a sequence number that was not used before. A sender's new incarnation gets a new one, so nothing that an
 * earlier incarnation sent, to us or to anybody else, is ever accepted again, not even if it was held back.
 */
export class InboundSession {
  #boot = 0n
  #shown = 0n
  /** Shown in a challenge that nobody has answered yet; 0 when there is none. */
  #pending = 0n
  #newest = 0
  /** Bit i: the request `newest − i` was seen. */
  #seen = 0

  admit(senderBoot: bigint, destBoot: bigint, seq: number): Admission {
    if (senderBoot === this.#boot && destBoot === this.#shown && destBoot !== 0n) {
      return this.#isFirst(seq) ? 'accepted' : 'replayed'
    }
    if (destBoot === 0n || destBoot !== this.#pending) return 'challenged'
    this.#boot = senderBoot
    this.#shown = destBoot
    this.#pending = 0n
    this.#newest = seq
    this.#seen = 1
    return 'accepted'
  }

  /** The boot id that the sender must show next. */
  challenge(random: Random): bigint {
    if (this.#pending === 0n) this.#pending = makeBoot(random)
    return this.#pending
  }

  #isFirst(seq: number): boolean {
    const ahead = seq - this.#newest
    if (ahead > 0) {
      this.#seen = ahead >= WINDOW ? 1 : (this.#seen << ahead) | 1
      this.#newest = seq
      return true
    }
    if (ahead <= -WINDOW) return false
    const bit = 1 << -ahead
    if ((this.#seen & bit) !== 0) return false
    this.#seen |= bit
    return true
  }
}
