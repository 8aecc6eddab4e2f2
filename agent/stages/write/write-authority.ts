// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { id64 } from '../../../core/ids.js'
import type { Roster } from '../../../core/roster.js'
import { CLASSES } from '../../../vote/judgement.js'
import type { DesiredMarks } from '../../../plan/node-plan.js'
import { firstWriter, writerTurn, type WriterTurn, type WriteTarget } from '../../../vote/writer.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { desiredMarksFor } from './desired-marks.js'

/** The check of the cloud link is jittered: it runs after this many periods at the latest. */
const LINK_PERIODS = 1.1

/** Whether this agent may write at all, with the zone's present state, or why not. */
type Permission =
  | { readonly kind: 'granted'; readonly state: ZoneState }
  | { readonly kind: 'denied'; readonly why: string }

const targetOf = (roster: Roster, node: string): WriteTarget => ({
  index: roster.indexOf(node) ?? -1,
  id: id64(node),
})

const denied = (why: string): Permission => ({ kind: 'denied', why })

interface WriteAuthoritySeams {
  readonly store: ResultStore
  readonly clock: Clock
  /** Aborted when the agent stops; then it may write nothing. */
  readonly signal: AbortSignal
  /** Whether the node's own kubelet renews its Lease; undefined before the Lease was read. */
  readonly isHeld: (node: string) => boolean | undefined
}

/**
 * Whether, and what, this agent may write now, by the latest judgement. Asked before a request is made and again right
 * before a patch is sent: in between this node may have left its zone, or lost its link or its majority.
 */
export class WriteAuthority {
  readonly #options: AgentOptions
  readonly #seams: WriteAuthoritySeams

  constructor(options: AgentOptions, seams: WriteAuthoritySeams) {
    this.#options = options
    this.#seams = seams
  }

  /** Whether this agent may write at all. */
  get permission(): Permission {
    const { store, signal } = this.#seams
    const state = store.zone.current
    const { source, isRegistered } = store.nodeList.current
    if (signal.aborted) return denied('this agent stops')
    if (state === undefined) return denied('nothing is known yet')
    if (store.ownNode.current.cloudLink.state !== 'up') return denied('no link to the apiserver')
    if (source !== 'api') return denied('the zone is not known from the apiserver yet')
    if (!isRegistered)
      return denied('the apiserver has no Node of our name, so this node is no member')
    if (state.table.size === 1) return denied('this zone has no other member')
    return { kind: 'granted', state }
  }

  /** Our rank among the writers for a node; undefined when this agent may not write about it. */
  turn(state: ZoneState, node: string): WriterTurn | undefined {
    const { roster, judgement, table } = state
    return writerTurn(judgement, table, targetOf(roster, node), this.#at(state))
  }

  /** For this state: whether it is our turn to write about a node because no agent before us in the order speaks. */
  firstWriter(state: ZoneState): (node: string) => boolean {
    const { roster, judgement, table } = state
    const isFirst = firstWriter(judgement, table, this.#at(state))
    return node => isFirst(targetOf(roster, node))
  }

  #at({ ranking }: ZoneState) {
    return { ranking, now: this.#seams.clock.now(), options: this.#options }
  }

  /** The marks that the member should have. A node whose kubelet renews its Lease is not marked as cut off. */
  desired(state: ZoneState, index: number): DesiredMarks {
    const desired = desiredMarksFor(state, index)
    const isHeld = desired === 'vouched' && this.#seams.isHeld(state.roster.members[index]!.name)
    return isHeld === true ? 'healthy' : desired
  }

  /** The same by name, now; `keep` where this agent may not write about it. */
  desiredNow(name: string): DesiredMarks {
    const place = this.#placeOf(name)
    return place === undefined ? 'keep' : this.desired(...place)
  }

  /** Whether the zone vouches for the member now, and this agent may write about it. */
  isVouchedNow(name: string): boolean {
    const place = this.#placeOf(name)
    return place !== undefined && desiredMarksFor(...place) === 'vouched'
  }

  /** The member's place in the zone, where this agent may write about it. */
  #placeOf(name: string): [state: ZoneState, index: number] | undefined {
    const { permission } = this
    if (permission.kind === 'denied') return undefined
    const { state } = permission
    const index = state.roster.indexOf(name)
    const isOurs = index !== undefined && this.turn(state, name) !== undefined
    return isOurs ? [state, index] : undefined
  }

  /** When all agents will have noticed that a cut of the whole zone is over. +Infinity for a node that is not cut off. */
  noticedAt({ judgement }: ZoneState, index: number): number {
    if (CLASSES[judgement.nodeClass[index]!] !== 'cloud-link-cut') return Infinity
    const { cloudCheckPeriodMs, cloudCheckTimeoutMs } = this.#options
    return judgement.classAt[index]! + LINK_PERIODS * cloudCheckPeriodMs + cloudCheckTimeoutMs
  }

  /** Until when it is too early to mark the node: not all agents have checked their links, or its Lease was not read yet. */
  youngUntil(state: ZoneState, index: number): number {
    const { name } = state.roster.members[index]!
    return this.#seams.isHeld(name) === undefined ? Infinity : this.noticedAt(state, index)
  }
}
