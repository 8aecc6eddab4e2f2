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
  /** `isSteady`: at the last vote all was well, and nothing that came since said anything else. */
  readonly vote: { vote(): void; refreshed(): void; readonly isSteady: boolean }
  /** `isIdle`: at the last review there was nothing to write, and no Node left to be read. */
  readonly write: { review(): void; readonly isIdle: boolean }
}

/** While all is well, this many rounds in a row are left out: in a zone of 1 000 a whole one takes 20 ms. */
const QUIET_ROUNDS = 2

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
  /** Rounds that were left out since the last whole one. */
  #leftOut = 0
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

  /**
   * A round of the schedule: a whole turn, in case a change was missed. It looks at all members, so where nothing is to be
   * found only each third round votes, and each third one reviews the writes.
   */
  round(): void {
    const { vote, write } = this.#started
    const isSteady = vote.isSteady && this.#reasons.size === 0
    const isWhole = !isSteady || this.#leftOut >= QUIET_ROUNDS
    this.#leftOut = isWhole ? 0 : this.#leftOut + 1
    if (isWhole) this.#vote(() => vote.vote())
    else this.#seams.suspension.look()
    if (isWhole || !write.isIdle) write.review()
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
