// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import { sleep, type Clock } from '../../core/clock.js'
import type { NodeName } from '../../core/ids.js'

/** The apiserver is asked about one node this often at most. */
const EVERY_MS = 250

interface Asked {
  /** Another question may begin. Never rejects. */
  readonly over: Promise<unknown>
  next: Promise<boolean> | undefined
}

export interface NodeQuestionSeams {
  readonly clock: Clock
  readonly ask: (node: NodeName) => Promise<boolean>
  /** Aborts when the program ends. */
  readonly signal: AbortSignal
}

/**
 * Questions to the cluster about nodes, at a bounded rate for each node. Those that come too soon wait, and one answer is for
 * all of them: so no answer is older than its question, as that of a cache would be.
 */
export class NodeQuestions {
  readonly #seams: NodeQuestionSeams
  readonly #asked = new Map<NodeName, Asked>()

  constructor(seams: NodeQuestionSeams) {
    this.#seams = seams
    // Each node that is asked about listens to it for a moment.
    setMaxListeners(0, seams.signal)
  }

  /** Rejects as the seam `ask` does. */
  ask(node: NodeName): Promise<boolean> {
    const asked = this.#asked.get(node)
    if (asked === undefined) return this.#start(node)
    return (asked.next ??= asked.over.then(() => this.#start(node)))
  }

  #start(node: NodeName): Promise<boolean> {
    const { ask, clock, signal } = this.#seams
    const answer = ask(node)
    const pause = sleep(clock, EVERY_MS, signal)
    const asked: Asked = {
      over: Promise.allSettled([answer, pause]).then(() => {
        if (asked.next === undefined) this.#asked.delete(node)
      }),
      next: undefined,
    }
    this.#asked.set(node, asked)
    return answer
  }
}
