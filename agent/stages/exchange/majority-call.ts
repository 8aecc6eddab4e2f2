// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Judgement } from '../../../vote/judgement.js'
import { VERDICT } from '../../../vote/quorum.js'
import type { ResultStore } from '../../store.js'

/** By then every record may be made anew. */
const ASK_AGAIN_MS = 260

interface MajorityCallSeams {
  readonly clock: Clock
  readonly store: ResultStore
  /** Say again what we say, and ask several peers at once. */
  readonly askAround: () => void
}

/** A condemnation began at this very instant. */
const isBegun = (judgement: Judgement, now: number): boolean =>
  judgement.pending.some(
    (verdict, index) => verdict === VERDICT.unhealthy && judgement.pendingAt[index] === now,
  )

/** Some condemnation still waits for its majority. */
const isUnbacked = (judgement: Judgement): boolean =>
  judgement.pending.some(
    (verdict, index) => verdict === VERDICT.unhealthy && judgement.backedAt[index] === Infinity,
  )

/**
 * When a condemnation begins, a majority must speak after it did. Who began it at the same time speaks within a batch;
 * the others' records may be too young to be made anew, so they are asked again.
 */
export class MajorityCall {
  readonly #waitMs: number
  readonly #seams: MajorityCallSeams
  #cancel: () => void = () => undefined

  constructor({ pushBatchMs }: { readonly pushBatchMs: number }, seams: MajorityCallSeams) {
    this.#waitMs = pushBatchMs
    this.#seams = seams
  }

  /** There was a vote. */
  review(judgement: Judgement): void {
    if (!isBegun(judgement, this.#seams.clock.now())) return
    this.stop()
    this.#plan(this.#waitMs, true)
  }

  stop(): void {
    this.#cancel()
  }

  #plan(ms: number, again: boolean): void {
    const { clock, store, askAround } = this.#seams
    this.#cancel = clock.after(ms, () => {
      const state = store.zone.current
      if (state === undefined || !isUnbacked(state.judgement)) return
      askAround()
      if (again) this.#plan(ASK_AGAIN_MS, false)
    })
  }
}
