// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../../core/random.js'
import type { Header } from './wire.js'

/** How far behind the newest request an older one may still arrive. */
const WINDOW = 32

/** By this share of the time that passed, two machines' monotonic clocks may differ. */
const DRIFT = 1 / 2_000

/** 64 random bits, never 0: 0 means "none yet" on the wire. */
export const makeBoot = (random: Random): bigint => {
  for (;;) {
    const boot = random.bits64()
    if (boot !== 0n) return boot
  }
}

/** What to do with a request that is rightly signed. Whatever is not accepted is answered with a challenge. */
export type Admission =
  /** It was under way no longer than this: what it says is by so much older than it says. */
  | { readonly kind: 'accepted'; readonly delayMs: number }
  /** Not meant for this incarnation of this receiver, or from an incarnation that has not answered yet. */
  | { readonly kind: 'challenged' }
  /** Held back for too long. */
  | { readonly kind: 'late' }
  /**
   * Since we showed its number more time went by for the sender than for us, by so much: our own clock stood still, or
   * was put back with all of our memory.
   */
  | { readonly kind: 'ahead'; readonly byMs: number }
  /** Its number was used before: somebody repeats it, or its sender was put back to an earlier state of its memory. */
  | { readonly kind: 'replayed' }

/** Of a request's header: who sent it, what it shows, and for how long its sender held that. */
export type Request = Pick<Header, 'senderBoot' | 'senderSeq' | 'destBoot' | 'heldMs'>

/** A number says when it was shown: it is `start` plus the milliseconds of the own clock. */
const numberAt = (start: bigint, now: number): bigint =>
  BigInt.asUintN(64, start + BigInt(Math.floor(now)))

/** A node whose memory was put back by more than this does not learn of it from its peers. */
const MAX_BACK_MS = 100 * 24 * 3_600_000

/** @returns when we showed this number, after `now` when our clock was put back; undefined when we never did. */
const shownAt = (start: bigint, number: bigint, now: number): number | undefined => {
  const at = Number(BigInt.asUintN(64, number - start))
  return start === 0n || at > now + MAX_BACK_MS ? undefined : at
}

/**
 * What a receiver remembers of one sender. Each challenge and each answer shows the sender a number made for it alone;
 * its next request must carry the last one, say for how long the sender held it, and have a sequence number that was not
 * used before. So the receiver knows, by its own clock alone, how long at most a request was under way. A new incarnation
 * of the sender gets numbers of another series, so nothing that an earlier one sent, to us or to anybody else, is
 * ever accepted again, not even if it was held back.
 */
export class InboundSession {
  /** Of the sender's incarnation that answered our last challenge. */
  #boot = 0n
  /** Where the numbers of its series begin; 0 before the first. */
  #start = 0n
  /** Where the series of the next incarnation begins, whose challenge nobody has answered yet; 0 when there is none. */
  #pending = 0n
  #newest = 0
  /** Bit i: the request `newest − i` was seen. */
  #seen = 0

  /** @param maxDelayMs how long a request may have been under way. */
  admit(request: Request, now: number, maxDelayMs: number): Admission {
    const { senderBoot, destBoot, senderSeq } = request
    const known = senderBoot === this.#boot ? shownAt(this.#start, destBoot, now) : undefined
    const at = known ?? shownAt(this.#pending, destBoot, now)
    if (at === undefined) return { kind: 'challenged' }
    const delayMs = (now - at) * (1 + DRIFT) - request.heldMs
    if (delayMs < 0) return { kind: 'ahead', byMs: -delayMs }
    if (delayMs > maxDelayMs) return { kind: 'late' }
    if (known === undefined) this.#begin(senderBoot, senderSeq)
    else if (!this.#isFirst(senderSeq)) return { kind: 'replayed' }
    return { kind: 'accepted', delayMs }
  }

  /** What the sender of an accepted request must show next. */
  next(now: number): bigint {
    return numberAt(this.#start, now)
  }

  /**
   * What must be shown by a sender whose request was not accepted. Repeating this changes nothing for the incarnation
   * that we listen to: whoever replays its requests cannot shut it out.
   */
  challenge(random: Random, now: number): bigint {
    if (this.#pending === 0n) this.#pending = makeBoot(random)
    return numberAt(this.#pending, now)
  }

  /** No number that was shown so far counts any more: whatever is under way, or waits to be read, is challenged. */
  forget(): void {
    this.#boot = 0n
    this.#start = 0n
    this.#pending = 0n
  }

  #begin(boot: bigint, seq: number): void {
    this.#boot = boot
    this.#start = this.#pending
    this.#pending = 0n
    this.#newest = seq
    this.#seen = 1
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
