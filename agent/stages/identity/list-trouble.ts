// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError } from '../../../core/errors.js'

/** After this many refused lists in a row, lists are given up. */
const MOST_REFUSED = 3
/** After this many other failures one Node is read alone, to tell whether lists do not work or the link does not. */
const MOST_FAILED = 3

/** The server refuses this request, and would refuse it again. */
export const isRefused = (error: unknown): boolean =>
  error instanceof KubeStatusError && error.status < 500 && error.status !== 429

/** Tracks whether lists of Nodes work: a proxy or a cache may refuse or break them, and still serve single Nodes. */
export class ListTrouble {
  #refused = 0
  /** Other failures in a row: of the link, the server, or something in between. */
  #failed = 0
  /** A single Node could be read since those failures. */
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
