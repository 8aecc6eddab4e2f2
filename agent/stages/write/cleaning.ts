// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { isNotFound } from '../../../core/errors.js'
import type { Roster } from '../../../core/roster.js'
import { NOTHING } from '../../../plan/patch.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { RemovedMembers } from './removed-members.js'
import type { WriteAuthority } from './write-authority.js'
import type { NodeWork } from './node-work.js'
import type { Task } from './node-writer.js'
import type { WriteSchedule } from './write-schedule.js'
import { planMarks } from './desired-marks.js'

interface CleaningSeams {
  readonly store: ResultStore
  readonly clock: Clock
  readonly authority: WriteAuthority
  readonly schedule: WriteSchedule
  readonly work: NodeWork
  /** The present time as it is written, in epoch ms. */
  readonly wall: () => number
  /** When our marks on the node may go, or when to ask again. */
  readonly dueAt: (state: ZoneState, node: string) => number
}

/** Takes our marks off members that left. */
export class Cleaning {
  readonly #options: AgentOptions
  readonly #seams: CleaningSeams
  readonly #removed = new RemovedMembers()

  constructor(options: AgentOptions, seams: CleaningSeams) {
    this.#options = options
    this.#seams = seams
  }

  /** Look at the roster as it is now. @returns whether it changed since the last look. */
  note(roster: Roster): boolean {
    return this.#removed.note(roster, this.#seams.clock.now())
  }

  /** Whether the node left, and may still carry our marks. */
  has(node: string): boolean {
    return this.#removed.has(node)
  }

  /** Start what is due; returns when to look again. */
  review(state: ZoneState): number {
    let nextAt = Infinity
    for (const node of this.#removed.names) nextAt = Math.min(nextAt, this.#review(state, node))
    return nextAt
  }

  #review(state: ZoneState, name: string): number {
    const { clock, dueAt, work } = this.#seams
    if (work.running.has(name)) return Infinity
    if (!this.#removed.isOursToClean(name, state.roster)) {
      this.#forget(name)
      return Infinity
    }
    const at = dueAt(state, name)
    if (at > clock.now()) return at
    work.running.start(name, this.#clean(name))
    return Infinity
  }

  async #clean(name: string): Promise<void> {
    const { store, authority, wall, work } = this.#seams
    const words = { message: 'this node left the zone', at: new Date(wall()).toISOString() }
    const isWanted = (): boolean => {
      const now = authority.permission
      return (
        now.kind === 'granted' &&
        authority.turn(now.state, name) !== undefined &&
        this.#removed.isOursToClean(name, now.state.roster)
      )
    }
    // The member list may be wrong about its absence: read the Node itself.
    const plan: Task['plan'] = node =>
      store.nodeList.current.isOfZone(node)
        ? NOTHING
        : planMarks(node, 'left', words, this.#options)
    const end = await work.carryOut({ node: name, what: 'take our marks off', plan, isWanted })
    // An agent that may no longer write has only read it. A Node that is gone from the API has nothing left to clean.
    if ((end.result === 'done' && isWanted()) || isNotFound(end.error)) this.#forget(name)
  }

  #forget(name: string): void {
    this.#removed.forget(name)
    this.#seams.schedule.forget(name)
  }
}
