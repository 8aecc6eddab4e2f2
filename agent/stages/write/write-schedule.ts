// SPDX-License-Identifier: Apache-2.0
import type { DesiredMarks } from '../../../plan/node-plan.js'
import { writeAt, type WriterTurn } from '../../../vote/writer.js'
import { keepOnly } from '../../keep-only.js'
import type { AgentOptions } from '../../options/agent-options.js'

/** What is to be written about one node, and since when that is known. */
interface Pending {
  readonly desired: DesiredMarks
  readonly since: number
}

/** The next write about a node, for `status`. */
export interface NextWrite {
  readonly desired: DesiredMarks
  /** Own place in the writers' order; undefined when this agent does not write. */
  readonly rank: number | undefined
  /** Since when the difference is known: the turn of the first in the order. `Clock.now`. */
  readonly since: number
}

/** Whose turn a write is, and when: rank 0 at once, the others when those before them are silent, or much later. */
export class WriteSchedule {
  readonly #options: AgentOptions
  readonly #pending = new Map<string, Pending>()

  constructor(options: AgentOptions) {
    this.#options = options
  }

  /** Nodes that differ from what is wanted. */
  get size(): number {
    return this.#pending.size
  }

  /** When it is our turn to write about a node; +Infinity when it never is. */
  dueAt(
    node: string,
    desired: DesiredMarks,
    { turn, now }: { readonly turn: WriterTurn | undefined; readonly now: number },
  ): number {
    let pending = this.#pending.get(node)
    if (pending?.desired !== desired) {
      pending = { desired, since: now }
      this.#pending.set(node, pending)
    }
    return turn === undefined ? Infinity : writeAt(pending.since, turn, this.#options)
  }

  /** Since when the difference is known; +Infinity when there is none. */
  since(node: string): number {
    return this.#pending.get(node)?.since ?? Infinity
  }

  /** `rankNow` is asked only where there is something to write: a rank costs a look at the whole zone. */
  next(node: string, rankNow: () => number | undefined): NextWrite | undefined {
    const pending = this.#pending.get(node)
    if (pending === undefined) return undefined
    return { ...pending, rank: rankNow() }
  }

  forget(node: string): void {
    this.#pending.delete(node)
  }

  /** Forget nodes that left the zone. */
  keepOnly(isKept: (node: string) => boolean): void {
    keepOnly(this.#pending, isKept)
  }

  clear(): void {
    this.#pending.clear()
  }
}
