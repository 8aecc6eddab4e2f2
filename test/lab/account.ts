// SPDX-License-Identifier: Apache-2.0
// What a report holds.
import type { WriteTally } from './audit.js'
import type { Played } from './cell.js'
import type { Figure } from './figures.js'
import type { LabOptions } from './options.js'

/** One call of the lab. */
export interface Run {
  readonly command: string
  readonly date: string
  readonly kubernetes: string
  readonly machine: string
  readonly options: LabOptions
  readonly durationMs: number
  /** Of our accounts, by the audit log; missing in reports of earlier versions. */
  readonly writes?: readonly WriteTally[]
}

export interface Report {
  readonly ok: boolean
  readonly runs: readonly Run[]
  /** What this lab cannot do to a zone. */
  readonly notPlayed: readonly string[]
  readonly figures: readonly Figure[]
  readonly cells: readonly Played[]
}
