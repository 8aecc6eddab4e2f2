// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { id64 } from '../../core/ids.js'
import { CLASSES } from '../../vote/judgement.js'
import type { Wish } from '../../vote/plan.js'
import { writerTurn, type WriterTurn } from '../../vote/writer.js'
import type { AgentOptions } from '../options/agent-options.js'
import type { ResultStore, ZoneState } from '../store.js'
import { wishFor } from './wishes.js'

/** The cloud link is looked at once in so many periods, at the latest. */
const LINK_PERIODS = 1.1

/** What a write rests on at this moment, or why nothing may be written. */
type Footing =
  | { readonly kind: 'firm'; readonly state: ZoneState }
  | { readonly kind: 'none'; readonly why: string }

const none = (why: string): Footing => ({ kind: 'none', why })

interface MandateSeams {
  readonly store: ResultStore
  readonly clock: Clock
  /** Aborted when the agent stops: nothing is wanted of it any more. */
  readonly signal: AbortSignal
  /** Whether the node's own kubelet renews its Lease; undefined before that was looked at. */
  readonly isHeld: (node: string) => boolean | undefined
}

/**
 * What this agent is to write at this moment, by what was judged last. Asked before a request is made and again before
 * a patch leaves: between the two a node may have left its zone, or lost its link or its majority.
 */
export class Mandate {
  readonly #o: AgentOptions
  readonly #seams: MandateSeams

  constructor(options: AgentOptions, seams: MandateSeams) {
    this.#o = options
    this.#seams = seams
  }

  /** Whether this agent may write at all. */
  get footing(): Footing {
    const { store, signal } = this.#seams
    const state = store.zone.current
    const { source, isRegistered } = store.nodeList.current
    if (signal.aborted) return none('this agent stops')
    if (state === undefined) return none('nothing is known yet')
    if (store.cloudLink.current.state !== 'up') return none('no link to the apiserver')
    if (source !== 'api') return none('the zone is not known from the apiserver yet')
    if (!isRegistered) return none('the apiserver has no Node of this name, so we are no member')
    if (state.table.size === 1) return none('this zone has no other member')
    return { kind: 'firm', state }
  }

  /** The own place among the writers for a node; undefined when this agent may not write about it. */
  turn({ roster, judgement, table }: ZoneState, node: string): WriterTurn | undefined {
    const target = { index: roster.indexOf(node) ?? -1, id: id64(node) }
    const ids = roster.members.map(({ id }) => id)
    return writerTurn(judgement, table, target, { ids, now: this.#seams.clock.now(), o: this.#o })
  }

  /** What is wanted of the member. Nobody is said to be cut off whose kubelet renews its Lease. */
  wish(state: ZoneState, index: number): Wish {
    const wish = wishFor(state, index)
    const isHeld = wish === 'vouched' && this.#seams.isHeld(state.roster.members[index]!.name)
    return isHeld === true ? 'healthy' : wish
  }

  /** The same by name at this moment; `keep` where it is not ours to say. */
  wishNow(name: string): Wish {
    const place = this.#placeOf(name)
    return place === undefined ? 'keep' : this.wish(...place)
  }

  /** Whether the zone vouches for the member at this moment, and it is ours to act on it. */
  isVouchedNow(name: string): boolean {
    const place = this.#placeOf(name)
    return place !== undefined && wishFor(...place) === 'vouched'
  }

  /** The member's place in the zone, where this agent may write about it. */
  #placeOf(name: string): [state: ZoneState, index: number] | undefined {
    const { footing } = this
    if (footing.kind === 'none') return undefined
    const { state } = footing
    const index = state.roster.indexOf(name)
    const isOurs = index !== undefined && this.turn(state, name) !== undefined
    return isOurs ? [state, index] : undefined
  }

  /** When every agent whose link came back together with the first one has noticed; +Infinity while none has. */
  noticedAt({ judgement: j }: ZoneState, index: number): number {
    if (CLASSES[j.nodeClass[index]!] !== 'cloud-link-cut') return Infinity
    const { cloudCheckPeriodMs, cloudCheckTimeoutMs } = this.#o
    return j.classAt[index]! + LINK_PERIODS * cloudCheckPeriodMs + cloudCheckTimeoutMs
  }

  /** Until when marks would be too early: all have noticed, and the node's Lease was looked at. */
  youngUntil(state: ZoneState, index: number): number {
    const { name } = state.roster.members[index]!
    return this.#seams.isHeld(name) === undefined ? Infinity : this.noticedAt(state, index)
  }
}
