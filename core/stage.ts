// SPDX-License-Identifier: Apache-2.0

/** SuperEdge's four stages, with the names that SuperEdge gave them, and the one that writes their results. */
export type StageName = 'get-node-list' | 'check' | 'commun' | 'vote' | 'write'

/** How a stage's last round went; served by `/status`, logged only when it changes. */
export interface StageStatus {
  readonly name: StageName
  readonly state: 'waiting' | 'ok' | 'failing'
  /** Rounds begun since start. */
  readonly rounds: number
  /** ISO 8601 of the last round's end; null before the first, and for a stage without rounds of its own. */
  readonly lastAt: string | null
  /** In words: what the last round did, or why it failed. */
  readonly detail: string
}
