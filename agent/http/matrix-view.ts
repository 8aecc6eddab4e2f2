// SPDX-License-Identifier: Apache-2.0
// The JSON of `/matrix`: who says what about whom.

/** One voter. Its vote about each target is one letter, in the order of `targets`. */
export interface MatrixVoter {
  readonly name: string
  /** Age of what it says; null when it was never heard. */
  readonly ageSeconds: number | null
  /** Why nothing that it says counts, in words; null when it does. */
  readonly why: string | null
  /**
   * `u` up, `d` down, `n` not looked, `o` up, but said before others said down and not again, so it does not count;
   * `-` it does not vote about this node.
   */
  readonly says: string
}

/** `GET /matrix`. */
export interface MatrixView {
  readonly at: string
  /** Nodes of the zone. */
  readonly members: number
  /** In a zone of more than 64 nodes: only those with trouble, and who votes about them, at most 64 of each. */
  readonly isPartial: boolean
  /** Worst first. */
  readonly targets: readonly string[]
  /** How long the own probes took to be answered the last time, by target; null: never, or not probed from here. */
  readonly roundTripSeconds: readonly (number | null)[]
  /** By name, this agent first. */
  readonly voters: readonly MatrixVoter[]
}
