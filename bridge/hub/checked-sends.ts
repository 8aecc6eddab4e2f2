// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'

/** What the cluster says of nodes. */
export interface NodeChecks {
  /** Whether it is known to be an edge node. */
  readonly isEdge: (node: NodeName) => boolean
  /**
   * Whether the cluster has a Node of this name that is neither an edge node nor was one when it connected. Rejects while that
   * is unknown: nothing is done or sent then.
   */
  readonly isForeign: (node: NodeName) => Promise<boolean>
}

interface CheckedSendsSeams extends NodeChecks {
  readonly node: NodeName
  /** The cluster has another Node of this name: called instead of sending. */
  readonly onForeign: () => void
  /** Messages were not sent since it is unknown what the Node is. */
  readonly onUnknown: (error: string) => void
  /** One of the callbacks threw. */
  readonly onBug: (error: unknown) => void
}

interface Waiting {
  readonly work: () => void
  readonly onLost: () => void
}

/**
 * What leaves for a node that is not known to be an edge node waits until the cluster has been asked. Whoever connects before
 * there is a Node of that name is sent nothing once there is one that is no edge node. One question is for everything that
 * came before it, and no answer is used twice. Messages stay in order.
 */
export class CheckedSends {
  readonly #seams: CheckedSendsSeams
  #waiting: Waiting[] = []
  #isAsking = false

  constructor(seams: CheckedSendsSeams) {
    this.#seams = seams
  }

  /** Send now, or when the cluster was asked. @param onLost called instead of `work` when nothing may be sent */
  send(work: () => void, onLost: () => void = () => undefined): void {
    const { isEdge, node } = this.#seams
    if (!this.#isAsking && isEdge(node)) {
      work()
      return
    }
    this.#waiting.push({ work, onLost })
    if (!this.#isAsking) void this.#ask()
  }

  /** Never rejects: whatever throws, the messages after it have their turn. */
  async #ask(): Promise<void> {
    this.#isAsking = true
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting
      this.#waiting = []
      const maySend = await this.#maySend()
      for (const { work, onLost } of waiting) this.#guarded(maySend ? work : onLost)
    }
    this.#isAsking = false
  }

  async #maySend(): Promise<boolean> {
    const { isForeign, node, onForeign, onUnknown } = this.#seams
    try {
      const isOthers = await isForeign(node)
      if (isOthers) this.#guarded(onForeign)
      return !isOthers
    } catch (error) {
      this.#guarded(() => onUnknown(reasonOf(error)))
      return false
    }
  }

  #guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#seams.onBug(error)
    }
  }
}
