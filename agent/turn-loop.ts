// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import type { ResultStore } from './store.js'

/**
 * Why a turn is due. `changed`: a vote or the roster changed; `fresher`: records became younger; `writes`: to review the
 * writes alone. After a vote the writes are reviewed if it changed something.
 */
export type TurnReason = 'changed' | 'fresher' | 'writes'

interface TurnSeams {
  readonly clock: Clock
  readonly store: ResultStore
  /** Called before each vote, to notice a suspension. */
  readonly suspension: { look(): void }
}

/** What takes part in a turn, in this order. */
interface Parts {
  readonly vote: { vote(): void; refreshed(): void }
  readonly write: { review(): void }
}

/**
 * Vote, then write: once for all that changed in the store while the event loop was busy, and never inside what changed
 * it. A peer that sends a record has its answer before that record is counted.
 */
export class TurnLoop {
  readonly #seams: TurnSeams
  #parts: Parts | undefined
  #reasons = new Set<TurnReason>()
  #cancel: (() => void) | undefined
  /** The last vote changed something that may have to be written. */
  #hasMoved = false
  #isStopped = false

  constructor(seams: TurnSeams) {
    this.#seams = seams
  }

  /** From now on changes in the store cause turns. */
  start(vote: Parts['vote'], write: Parts['write']): void {
    this.#parts = { vote, write }
    const { store } = this.#seams
    let { cloudLink } = store.ownNode.current
    store.records.subscribe(() => this.ask('changed'))
    store.evidence.subscribe(news => this.ask(news))
    store.marked.subscribe(() => this.ask('changed'))
    store.ownNode.subscribe(own => {
      this.ask('changed')
      if (own.cloudLink !== cloudLink) this.ask('writes')
      cloudLink = own.cloudLink
    })
    store.vote.subscribe(({ changes, vouchMoved }) => {
      if (changes.state || vouchMoved || changes.verdict.length > 0) this.#hasMoved = true
    })
  }

  /** Take a turn as soon as what runs now has ended. */
  ask(reason: TurnReason): void {
    if (this.#isStopped) return
    this.#reasons.add(reason)
    this.#cancel ??= this.#seams.clock.after(0, () => this.#turn())
  }

  /** A whole turn at once. */
  take(): void {
    const { vote, write } = this.#started
    this.#vote(() => vote.vote())
    write.review()
  }

  /** Vote once more right before a write is sent, so that its decision is that of this moment. */
  voteNow(): void {
    const { vote } = this.#started
    if (this.#vote(() => vote.vote())) this.ask('writes')
  }

  /** No turn begins after this. */
  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  get #started(): Parts {
    if (this.#parts === undefined) throw new Error('the turn loop was not started')
    return this.#parts
  }

  /** @returns whether there may be something to write. */
  #vote(act: () => void): boolean {
    this.#seams.suspension.look()
    this.#hasMoved = false
    act()
    return this.#hasMoved
  }

  #turn(): void {
    const { vote, write } = this.#started
    const reasons = this.#reasons
    this.#reasons = new Set()
    this.#cancel = undefined
    const hasMoved = this.#vote(() => {
      if (reasons.has('changed')) vote.vote()
      else if (reasons.has('fresher')) vote.refreshed()
    })
    if (hasMoved || reasons.has('writes')) write.review()
  }
}
