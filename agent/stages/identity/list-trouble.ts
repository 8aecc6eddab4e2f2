// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError } from '../../../core/errors.js'

/** After so many refused lists in a row they are of no use. */
const MOST_REFUSED = 3
/** After so many other failures one Node is read, to tell lists that do not work from a link that does not. */
const MOST_FAILED = 3

/** The server does not show what was asked for, however often. */
export const isRefused = (error: unknown): boolean =>
  error instanceof KubeStatusError && error.status < 500 && error.status !== 429

/** Whether lists of Nodes can be had: a proxy or a cache may refuse or break them, and serve each Node alone. */
export class ListTrouble {
  #refused = 0
  /** In a row; the link may have failed, or the server, or what is between. */
  #failed = 0
  /** Since then a single Node could be read. */
  #hasAnswered = false

  /** Nodes have to be read one by one, until `clear`. */
  get isLasting(): boolean {
    return this.#refused >= MOST_REFUSED
  }

  /** Reading one Node alone tells whether it is the lists or the link. */
  get isInDoubt(): boolean {
    return this.#failed >= MOST_FAILED && !this.#hasAnswered
  }

  listFailed(error: unknown): void {
    if (isRefused(error)) this.#refused++
    else if (this.#hasAnswered) this.#refused = MOST_REFUSED
    else this.#failed++
  }

  /** A Node was read alone. @param isAnswered whether the server said anything */
  readAlone(isAnswered: boolean): void {
    if (this.#failed < MOST_FAILED) return
    this.#hasAnswered = isAnswered
    if (!isAnswered) this.#failed = 0
  }

  /** A list was answered, or is worth a try again. */
  clear(): void {
    this.#refused = this.#failed = 0
    this.#hasAnswered = false
  }
}
