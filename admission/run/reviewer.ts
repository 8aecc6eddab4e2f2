// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { decideReview, type Known, type ReviewPath } from '../model/decide.js'
import type { Decision } from '../model/decision.js'
import type { Knowledge } from '../model/nodes.js'
import { awaitedNode } from '../model/pods.js'
import type { Review } from '../model/review.js'
import type { KeepRules } from '../model/standing.js'
import type { NodeTable } from './node-table.js'

export interface ReviewerSeams {
  readonly table: Pick<NodeTable, 'find' | 'changed'>
  readonly clock: Clock
  /** Epoch ms by the apiserver's clock; undefined before its first response. */
  readonly serverTime: () => number | undefined
}

export interface ReviewerOptions {
  readonly rules: KeepRules
  readonly untouched: ReadonlySet<string>
}

/** Longest wait for a newer Node; the apiserver's time limit is two seconds. */
const BEHIND_MS = 1_000
/**
 * After a wait without a result no review of that source waits for this long, since the node controller writes one Pod
 * after another.
 */
const IMPATIENT_MS = 30_000

/** Decides about reviews by what is in memory, without a request. */
export class Reviewer {
  readonly #options: ReviewerOptions
  readonly #seams: ReviewerSeams
  /** Until when reviews of a source do not wait. Kept per source, since anybody who can reach the port may send reviews. */
  readonly #impatientUntil = new Map<string, number>()

  constructor(options: ReviewerOptions, seams: ReviewerSeams) {
    this.#options = options
    this.#seams = seams
  }

  /** What decisions are based on now. */
  get knowledge(): Knowledge {
    const { rules, find, serverTime } = this.#known
    return { rules, find, now: serverTime }
  }

  /**
   * The decision about a write, within about a second.
   * @param source who sent the review, by `AddressSources.keyOf`: nothing else proves that it is an apiserver
   */
  async decide(path: ReviewPath, review: Review, source: string): Promise<Decision> {
    const { table, clock } = this.#seams
    const until = clock.now() + BEHIND_MS
    for (;;) {
      const known = this.#known
      const decision = decideReview(path, review, known)
      const behind = decision.kind === 'unchanged' && decision.why === 'heard'
      const node = behind && path === '/pod-status' ? awaitedNode(review, known) : undefined
      const leftMs = until - clock.now()
      if (node === undefined || leftMs <= 0 || this.#isImpatient(source)) return decision
      if (!(await table.changed(node, leftMs)))
        this.#impatientUntil.set(source, clock.now() + IMPATIENT_MS)
    }
  }

  #isImpatient(source: string): boolean {
    const now = this.#seams.clock.now()
    for (const [each, until] of this.#impatientUntil)
      if (until <= now) this.#impatientUntil.delete(each)
    return this.#impatientUntil.has(source)
  }

  get #known(): Known {
    const { table, serverTime } = this.#seams
    return { ...this.#options, find: name => table.find(name), serverTime: serverTime() }
  }
}
