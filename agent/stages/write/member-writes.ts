// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { eventFor, type EventWords } from '../../../plan/events.js'
import type { DesiredMarks } from '../../../plan/node-plan.js'
import { NOTHING } from '../../../plan/patch.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ResultStore } from '../../store.js'
import { planMarks, planYoungVouch, wordingOf, wordsFor } from './desired-marks.js'
import type { EventRecorder } from './event-recorder.js'
import type { NodeWork } from './node-work.js'
import type { Task } from './node-writer.js'
import type { WriteAuthority } from './write-authority.js'

interface MemberWritesSeams {
  readonly clock: Clock
  readonly store: Pick<ResultStore, 'zone' | 'nodeList'>
  readonly authority: Pick<WriteAuthority, 'desiredNow' | 'youngUntil'>
  readonly work: Pick<NodeWork, 'carryOut'>
  readonly events: EventRecorder
  /** The present time for annotations, epoch ms. */
  readonly wall: () => number
}

/** Writes what the zone decided about a member to its Node, and the Event about it. */
export class MemberWrites {
  readonly #options: AgentOptions
  readonly #seams: MemberWritesSeams

  constructor(options: AgentOptions, seams: MemberWritesSeams) {
    this.#options = options
    this.#seams = seams
  }

  /**
   * Write what is decided at the moment of each request, not what was decided when the write became due. If the decision
   * has changed by then, nothing is written, and the new one becomes due in its own time.
   */
  async write(name: string, what: DesiredMarks): Promise<void> {
    const { store, clock, authority, work, events, wall } = this.#seams
    let event: EventWords | undefined
    const plan: Task['plan'] = node => {
      // The member list may be stale: an agent that knows that the node left takes our marks off.
      if (what === 'keep' || !store.nodeList.current.isOfZone(node)) return NOTHING
      const state = store.zone.current!
      const index = state.roster.indexOf(name)!
      const at = { now: clock.now(), wall: wall(), options: this.#options }
      const { explanation, words } = wordsFor(state, index, what, at)
      if (what === 'vouched' && at.now < authority.youngUntil(state, index))
        return planYoungVouch(node, words, this.#options)
      event = eventFor(what, explanation, wordingOf(state, at.now))
      return planMarks(node, what, words, this.#options)
    }
    const isWanted = (): boolean => what !== 'keep' && authority.desiredNow(name) === what
    const end = await work.carryOut({ node: name, what, plan, isWanted })
    const { before, node, written } = end
    if (written === 0 || event === undefined || node === undefined || before === undefined) return
    await events.send(node, event)
    await events.sendVouchEnd(node, before, what)
  }
}
