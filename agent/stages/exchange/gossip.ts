// SPDX-License-Identifier: Apache-2.0
import { jitter } from '../../../core/random.js'
import { Batch } from './batch.js'
import type { PeerClient } from './peer-client.js'
import type { ExchangeContext } from './context.js'
import type { PeerState } from './peer-state.js'
import type { Partners } from './partners.js'
import { TokenBucket } from './rate-limit.js'

/** The first exchange comes within this time: a fresh agent learns what the zone knows from one reply. */
const FIRST_WITHIN_MS = 1_000

/** Peers asked at once when a decision depends on what most members say now, and when the zone waits for us. */
const ASKED = 8
const ASKED_WIDELY = 32

/** Members that send without their keys are asked for them. Limits: all together per second and at once, and each one. */
const UNSIGNED_PER_SECOND = 2
const UNSIGNED_AT_ONCE = 8
const UNSIGNED_MS = 1_000

/** Anti-entropy: one push-pull with one partner per period, more often while something is contested. */
export class Gossip {
  readonly #context: ExchangeContext
  readonly #client: PeerClient
  readonly #partners: Partners
  readonly #unsigned = new TokenBucket({
    perSecond: UNSIGNED_PER_SECOND,
    burst: UNSIGNED_AT_ONCE,
  })
  #cancel: (() => void) | undefined
  #dueAt = Infinity
  #isContested = false
  #burstUntil = -Infinity

  constructor(context: ExchangeContext, client: PeerClient, partners: Partners) {
    this.#context = context
    this.#client = client
    this.#partners = partners
  }

  get isBurst(): boolean {
    return this.#isContested || this.#context.now < this.#burstUntil
  }

  get #periodMs(): number {
    const { exchangePeriodMs, ringExchangePeriodMs, burstPeriodMs } = this.#context.options
    if (this.isBurst) return burstPeriodMs
    return this.#context.membership.table.topology.kind === 'mesh'
      ? exchangePeriodMs
      : ringExchangePeriodMs
  }

  start(): void {
    if (this.#cancel !== undefined) return
    const first = Math.min(FIRST_WITHIN_MS, this.#periodMs)
    this.#schedule(this.#context.seams.random.below(Math.ceil(first) + 1))
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#dueAt = Infinity
  }

  /** Something is contested, or no longer; the burst outlives its last cause. */
  setBurst(on: boolean): void {
    const { burstMs, burstPeriodMs } = this.#context.options
    if (on || this.#isContested) this.#burstUntil = this.#context.now + burstMs
    this.#isContested = on
    if (!on || this.#cancel === undefined) return
    const wait = jitter(this.#context.seams.random, burstPeriodMs, 0.1)
    if (this.#dueAt > this.#context.now + wait) this.#schedule(wait)
  }

  /** Ask several partners at the same time, instead of one after the other. */
  askAround(): void {
    this.#askMany(ASKED, () => this.#partners.pick())
  }

  /** Ask many at the same time, from all over the zone: neighbours know much the same. */
  askWidely(): void {
    this.#askMany(ASKED_WIDELY, () => this.#partners.pickAnybody())
  }

  #askMany(count: number, pick: () => PeerState | undefined): void {
    if (this.#cancel === undefined) return
    for (let asked = 0; asked < count; asked++) {
      const partner = pick()
      if (partner === undefined) return
      // It never rejects.
      void this.#exchangeWith(partner)
    }
  }

  /** Exchange with this one now, unless an exchange is under way. */
  ask(peer: PeerState): void {
    // It never rejects.
    if (!peer.isGossiping && this.#cancel !== undefined) void this.#exchangeWith(peer)
  }

  /** A member that has keys sends without them: ask who is at its address. */
  askForKeys(peer: PeerState): void {
    const { now } = this.#context
    if (now - peer.lastSentAt >= UNSIGNED_MS && this.#unsigned.take(now)) this.ask(peer)
  }

  #schedule(ms: number): void {
    this.#cancel?.()
    this.#dueAt = this.#context.now + ms
    this.#cancel = this.#context.seams.clock.after(ms, () => this.#round())
  }

  #round(): void {
    this.#schedule(jitter(this.#context.seams.random, this.#periodMs, 0.1))
    const partner = this.#partners.pick()
    // A round may outlast the period; the next one then has another partner. It never rejects.
    if (partner !== undefined) void this.#exchangeWith(partner)
    else this.#speakAlone()
  }

  /** Without a partner, as in a zone of one, the own record must still not go stale. */
  #speakAlone(): void {
    this.#context.membership.speak()
    this.#context.seams.onEvidence('fresher')
  }

  async #exchangeWith(partner: PeerState): Promise<void> {
    partner.isGossiping = true
    await this.#client.deliver(
      partner,
      new Batch(this.#context, 'gossip', [], { isWide: this.isBurst }),
    )
    partner.isGossiping = false
  }
}
