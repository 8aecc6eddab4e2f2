// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../../core/random.js'
import type { Header } from './wire.js'

/** How far behind the newest request an older one may still arrive. */
const WINDOW = 32

/** Two machines' monotonic clocks may differ by this share of the time that passed. */
const DRIFT = 1 / 2_000

/** 64 random bits, never 0: 0 means "none yet" on the wire. */
export const makeBoot = (random: Random): bigint => {
  for (;;) {
    const boot = random.bits64()
    if (boot !== 0n) return boot
  }
}

/** What to do with a request whose signature is valid. Any that is not accepted is answered with a challenge. */
export type Admission =
  /** It was under way for at most this long: its records may be that much older than they say. */
  | { readonly kind: 'accepted'; readonly delayMs: number }
  /** Not meant for this incarnation of this receiver, or from an incarnation that has not answered yet. */
  | { readonly kind: 'challenged' }
  /** Held back for too long. */
  | { readonly kind: 'late' }
  /**
   * Since we issued its number, this much more time went by for the sender than for us: our own clock stood still, or our
   * machine was restored to an earlier state, memory and clock together.
   */
  | { readonly kind: 'ahead'; readonly byMs: number }
  /** Its number was used before: it is a replay, or its sender was restored to an earlier state of its memory. */
  | { readonly kind: 'replayed' }

/** Of a request's header: who sent it, what it shows, and for how long its sender held that. */
export type Request = Pick<Header, 'senderBoot' | 'senderSeq' | 'destBoot' | 'heldMs'>

/** A number tells when it was issued: it is `start` plus the milliseconds of the own clock. */
const numberAt = (start: bigint, now: number): bigint =>
  BigInt.asUintN(64, start + BigInt(Math.floor(now)))

/** A node that was restored to a state older than this does not learn of it from its peers. */
const MAX_BACK_MS = 100 * 24 * 3_600_000

/** @returns when we issued this number (later than `now` if our clock was set back); undefined when we never did. */
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

  /** The number that the sender of an accepted request must carry next. */
  next(now: number): bigint {
    return numberAt(this.#start, now)
  }

  /**
   * The number that a sender must carry next whose request was not accepted. Calling this again changes nothing for the
   * incarnation that we listen to, so replaying its requests cannot shut it out.
   */
  challenge(random: Random, now: number): bigint {
    if (this.#pending === 0n) this.#pending = makeBoot(random)
    return numberAt(this.#pending, now)
  }

  /** Invalidate all numbers issued so far: requests under way, or waiting to be read, are challenged. */
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
