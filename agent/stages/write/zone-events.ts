// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { id64 } from '../../../core/ids.js'
import { brakeEvent, zoneTrapEvent, type EventWords } from '../../../plan/events.js'
import { brakeLimit, isCondemned } from '../../../vote/verdicts.js'
import { zoneSpeaker } from '../../../vote/writer.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { partlyReached, zoneTrap } from '../../zone-trap.js'
import type { EventRecorder } from './event-recorder.js'

interface ZoneEventSeams {
  readonly clock: Clock
  readonly store: ResultStore
  readonly events: Pick<EventRecorder, 'send'>
}

/** A link that fails for a moment is no sign of several sites. */
const UNREACHED_MS = 300_000
/** Takes the place of a node's name when the agents are ranked; it has blanks, so no node has this name. */
const ZONE_TARGET = 'the zone as a whole'

/**
 * Sends Events about the zone as a whole, at the own Node: the brake, and several sites that are one zone by default. Only
 * the agent that ranks first for the zone sends them. What begins while nobody reaches the apiserver is sent afterwards,
 * if it still holds.
 */
export class ZoneEvents {
  readonly #options: AgentOptions
  readonly #seams: ZoneEventSeams
  #isBraked = false
  #hasTrap = false
  #unreachedSince = Infinity
  #trap: string | undefined

  constructor(options: AgentOptions, seams: ZoneEventSeams) {
    this.#options = options
    this.#seams = seams
    seams.store.vote.subscribe(({ state }) => this.#voted(state))
  }

  /** The trap of the default, in words; undefined when there is none. */
  get trap(): string | undefined {
    return this.#trap
  }

  #voted(state: ZoneState): void {
    const { judgement, roster, ranking } = state
    // An agent without a full voice cannot judge whether the brake holds.
    if (judgement.voice !== 'full') return
    this.#trap = this.#trapOf(state)
    const hasTrap = this.#trap !== undefined
    if (judgement.brake === this.#isBraked && hasTrap === this.#hasTrap) return
    const at = { now: this.#seams.clock.now(), options: this.#options, ranking }
    const top = zoneSpeaker(judgement, state.table, id64(ZONE_TARGET), at)
    if (top === undefined) return
    const isOurs = top === roster.self
    if (judgement.brake !== this.#isBraked) {
      this.#isBraked = judgement.brake
      if (isOurs) this.#send(this.#brakeWords(state))
    }
    if (hasTrap === this.#hasTrap) return
    this.#hasTrap = hasTrap
    if (isOurs && this.#trap !== undefined) this.#send(zoneTrapEvent(this.#trap))
  }

  #trapOf(state: ZoneState): string | undefined {
    const { store, clock } = this.#seams
    const { rule } = store.nodeList.current
    const now = clock.now()
    const unreached = partlyReached(state)
    if (unreached.length === 0) this.#unreachedSince = Infinity
    else this.#unreachedSince = Math.min(this.#unreachedSince, now)
    const isLasting = now - this.#unreachedSince >= UNREACHED_MS
    const addresses = state.roster.members.map(({ address }) => address)
    return zoneTrap(rule, addresses, isLasting ? unreached : [])
  }

  #brakeWords({ roster, judgement }: ZoneState): EventWords {
    const { members, zone } = roster
    const names = members.filter((_, index) => isCondemned(judgement, index))
    return brakeEvent({
      isOn: judgement.brake,
      ...{ zone, members: members.length, unhealthy: judgement.dead },
      limit: brakeLimit(members.length, this.#options),
      names: names.map(({ name }) => name),
    })
  }

  #send(words: EventWords): void {
    const { store, events } = this.#seams
    const name = this.#options.nodeName
    const uid = store.nodeList.current.ownNode()?.uid ?? ''
    // It records the outcome and never rejects.
    void events.send({ name, uid }, words)
  }
}
