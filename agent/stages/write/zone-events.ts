// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Random } from '../../../core/random.js'
import { id64 } from '../../../core/ids.js'
import { brakeEvent, zoneTrapEvent, type EventWords } from '../../../plan/events.js'
import { brakeLimit, isCondemned } from '../../../vote/verdicts.js'
import { zoneSpeaker } from '../../../vote/writer.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { partlyReached, zoneTrap } from '../../zone-trap.js'
import type { TurnLoop } from '../../turn-loop.js'
import { Announcement, type News } from './announcement.js'
import type { EventRecorder } from './event-recorder.js'
import type { RequestBackoff } from './request-backoff.js'

interface ZoneEventSeams {
  readonly clock: Clock
  readonly random: Random
  readonly store: ResultStore
  readonly events: Pick<EventRecorder, 'send'>
  readonly backoff: Pick<RequestBackoff, 'readyAt'>
  readonly turns: Pick<TurnLoop, 'ask'>
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
  readonly #brake: Announcement
  readonly #severalSites: Announcement
  #unreachedSince = Infinity
  #trap: string | undefined

  constructor(options: AgentOptions, seams: ZoneEventSeams) {
    this.#options = options
    this.#seams = seams
    const { clock, random, store, backoff, turns } = seams
    const ways = {
      ...{ clock, random },
      cloudLink: () => store.ownNode.current.cloudLink,
      readyAt: () => backoff.readyAt(),
      judge: () => turns.ask('changed'),
    }
    this.#brake = new Announcement(options, ways)
    this.#severalSites = new Announcement(options, ways)
    store.vote.subscribe(({ state }) => this.#voted(state))
  }

  /** The trap of the default, in words; undefined when there is none. */
  get trap(): string | undefined {
    return this.#trap
  }

  stop(): void {
    this.#brake.forget()
    this.#severalSites.forget()
  }

  #voted(state: ZoneState): void {
    const { judgement } = state
    // An agent without a full voice cannot judge whether the brake holds.
    if (judgement.voice !== 'full') {
      this.stop()
      return
    }
    const trap = this.#trapOf(state)
    this.#trap = trap
    const isTrap = trap !== undefined
    if (this.#brake.isSettled(judgement.brake) && this.#severalSites.isSettled(isTrap)) return
    const sayBrake = (id: bigint) => this.#send({ ...this.#brakeWords(state), id })
    this.#review(this.#brake, state, { isSo: judgement.brake, say: sayBrake })
    const sayTrap = isTrap ? (id: bigint) => this.#send({ ...zoneTrapEvent(trap), id }) : undefined
    this.#review(this.#severalSites, state, { isSo: isTrap, say: sayTrap })
  }

  #review(
    announcement: Announcement,
    { judgement, roster, ranking, table }: ZoneState,
    news: Pick<News, 'isSo' | 'say'>,
  ): void {
    const now = this.#seams.clock.now()
    const last = roster.indexOf(announcement.lastSpeaker ?? '')
    const at = { now, options: this.#options, ranking, last }
    const speaker = zoneSpeaker(judgement, table, id64(ZONE_TARGET), at)
    const name = speaker === undefined ? undefined : roster.members[speaker]!.name
    announcement.review({ ...news, speaker: name })
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

  #send(words: EventWords & { readonly id: bigint }): Promise<boolean> {
    const { store, events } = this.#seams
    const name = this.#options.nodeName
    const uid = store.nodeList.current.ownNode()?.uid ?? ''
    return events.send({ name, uid }, words)
  }
}
