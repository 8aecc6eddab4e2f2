// SPDX-License-Identifier: Apache-2.0
import type { Wish } from '../../vote/plan.js'
import { writeAt } from '../../vote/writer.js'
import type { AgentOptions } from '../options/agent-options.js'

/** Wait this long before a write that failed is tried again. */
const RETRY_MS = 2_000

/** What is to be written about one node, and since when that is known. */
interface Pending {
  readonly wish: Wish
  readonly since: number
  notBefore: number
}

/** The next write about a node, for `status`. */
export interface NextWrite {
  readonly wish: Wish
  /** Own place in the writers' order; undefined when this agent does not write. */
  readonly rank: number | undefined
  /** `Clock.now`; +Infinity without a rank. */
  readonly at: number
}

/** Whose turn a write is, and when: rank 0 at once, the others later, each if nobody before them wrote. */
export class Turns {
  readonly #o: AgentOptions
  readonly #pending = new Map<string, Pending>()

  constructor(options: AgentOptions) {
    this.#o = options
  }

  /** Nodes that differ from what is wanted. */
  get size(): number {
    return this.#pending.size
  }

  /** When it is our turn to write about a node; +Infinity when it never is. */
  dueAt(
    node: string,
    wish: Wish,
    { rank, now }: { readonly rank: number | undefined; readonly now: number },
  ): number {
    let pending = this.#pending.get(node)
    if (pending?.wish !== wish) {
      pending = { wish, since: now, notBefore: now }
      this.#pending.set(node, pending)
    }
    if (rank === undefined) return Infinity
    return Math.max(pending.notBefore, writeAt(pending.since, rank, this.#o))
  }

  /** Since when the difference is known; +Infinity when there is none. */
  since(node: string): number {
    return this.#pending.get(node)?.since ?? Infinity
  }

  /** `rankNow` is asked only where there is something to write: a rank costs a look at the whole zone. */
  next(node: string, rankNow: () => number | undefined): NextWrite | undefined {
    const pending = this.#pending.get(node)
    if (pending === undefined) return undefined
    const rank = rankNow()
    const at = rank === undefined ? Infinity : writeAt(pending.since, rank, this.#o)
    return { wish: pending.wish, rank, at }
  }

  /** A write failed. */
  retryLater(node: string, now: number): void {
    const pending = this.#pending.get(node)
    if (pending !== undefined) pending.notBefore = now + RETRY_MS
  }

  forget(node: string): void {
    this.#pending.delete(node)
  }

  clear(): void {
    this.#pending.clear()
  }
}
