// SPDX-License-Identifier: Apache-2.0
import type { Judgement } from '../../../vote/judgement.js'
import type { VoteOptions } from '../../../vote/options.js'
import { STANDING, upsCountSince } from '../../../vote/tally.js'
import type { RecordTable } from '../../records/table.js'

/** With fewer observers than this whose votes count, a node's backup observers begin to look. */
const ENOUGH_OBSERVERS = 3
/** They begin, and end, after this many reaffirm windows. */
const PATIENCE_WINDOWS = 2

/** What the decision is made from, at one instant. */
export interface BackupScene {
  readonly table: RecordTable
  readonly judgement: Judgement
  readonly now: number
  readonly options: VoteOptions
}

const countedObservers = (
  target: number,
  { table, judgement, now, options }: BackupScene,
): number => {
  const sinceAt = upsCountSince(judgement, target, { now, options })
  let counted = 0
  for (const observer of table.topology.observersOf(target)) {
    if (judgement.standing[observer] !== STANDING.counts) continue
    if (table.saysDown(observer, target) || table.producedAt[observer]! >= sinceAt) counted++
  }
  return counted
}

/**
 * In a large zone a node's few observers can all be lost at once: dead, or on the other side of a partition. After a while
 * the next in line probe it too, so that it does not go unwatched.
 */
export class BackupObservers {
  /** By roster index: since when this node should begin to probe the member, or stop. A new roster is a new object. */
  readonly #since = new Map<number, number>()
  readonly #active = new Set<number>()

  /** @returns whether `active` changed. */
  review(scene: BackupScene): boolean {
    const { table, now, options } = scene
    let isChange = false
    for (const target of table.topology.backupTargetsOf(table.self)) {
      const isNeeded = countedObservers(target, scene) < ENOUGH_OBSERVERS
      if (isNeeded === this.#active.has(target)) {
        this.#since.delete(target)
        continue
      }
      const since = this.#since.get(target) ?? now
      this.#since.set(target, since)
      if (now - since < PATIENCE_WINDOWS * options.reaffirmWindowMs) continue
      this.#since.delete(target)
      if (isNeeded) this.#active.add(target)
      else this.#active.delete(target)
      isChange = true
    }
    return isChange
  }

  /** `Clock.now` at which the next one begins or ends, if nothing changes until then; +Infinity when none does. */
  dueAt({ reaffirmWindowMs }: Pick<VoteOptions, 'reaffirmWindowMs'>): number {
    return Math.min(...this.#since.values()) + PATIENCE_WINDOWS * reaffirmWindowMs
  }

  /** Roster indices of the nodes that this one probes as a backup observer. */
  get active(): ReadonlySet<number> {
    return this.#active
  }
}
