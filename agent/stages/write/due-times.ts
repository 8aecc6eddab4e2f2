// SPDX-License-Identifier: Apache-2.0
import type { DesiredMarks } from '../../../plan/node-plan.js'
import { majoritySpokeAt } from '../../../vote/majority.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'
import type { NodeWork } from './node-work.js'
import type { RequestBackoff } from './request-backoff.js'
import type { WriteAuthority } from './write-authority.js'
import type { WriteSchedule } from './write-schedule.js'

/** How often to check whether a majority has spoken. */
const CONFIRM_MS = 500

interface DueTimesSeams {
  readonly authority: Pick<WriteAuthority, 'turn'>
  readonly schedule: WriteSchedule
  readonly backoff: RequestBackoff
  readonly work: Pick<NodeWork, 'running'>
}

interface WantedWrite {
  readonly desired: DesiredMarks
  /** `Clock.now`; −Infinity for at once. */
  readonly notBefore: number
  readonly now: number
}

/** When this agent is to write about a node: its turn, a majority that confirms it, and the backoff together. */
export class DueTimes {
  readonly #options: AgentOptions
  readonly #seams: DueTimesSeams

  constructor(options: AgentOptions, seams: DueTimesSeams) {
    this.#options = options
    this.#seams = seams
  }

  /** @returns when to ask again, which may be before the write is due; `now` or earlier means: write */
  dueAt(state: ZoneState, node: string, { desired, notBefore, now }: WantedWrite): number {
    const { authority, schedule, backoff, work } = this.#seams
    const turn = authority.turn(state, node)
    const turnAt = schedule.dueAt(node, desired, { turn, now })
    if (turn === undefined) return Infinity
    if (!this.#isConfirmed(state, node, desired)) return now + CONFIRM_MS
    // While requests fail, one is made at a time, and its end starts the next review.
    if (backoff.isFailing && work.running.size > 0) return Infinity
    const dueAt = Math.max(turnAt, notBefore, backoff.readyAt(node))
    if (turnAt <= now) return dueAt
    // A writer ranked before us may fall silent at any time; with many before us, our turn comes late in any case.
    const lookMs = (this.#options.writerStaggerMs / 2) * Math.max(1, turn.rank)
    return Math.min(dueAt, now + lookMs)
  }

  /**
   * Marks that we would remove may have been set by a majority that we no longer hear: a majority must have spoken after we
   * saw the difference. A verdict of unhealthy has already waited for that before it became final.
   */
  #isConfirmed({ judgement, table }: ZoneState, node: string, desired: DesiredMarks): boolean {
    if (desired === 'dead' || desired === 'kubelet-sick') return true
    return majoritySpokeAt(judgement, table) > this.#seams.schedule.since(node)
  }
}
