// SPDX-License-Identifier: Apache-2.0
import { BodyWriter } from '../../../agent/stages/exchange/body-writer.js'
import { Heartbeat } from '../../../agent/records/heartbeat.js'
import { topologyFor } from '../../../agent/records/kring.js'
import type { RecordDraft } from '../../../agent/records/record-draft.js'
import { RecordTable } from '../../../agent/records/table.js'
import { open, seal, zoneHash, type Opened } from '../../../agent/stages/exchange/wire.js'
import type { KeyRing } from '../../../agent/key-ring.js'
import type { Clock } from '../../../core/clock.js'
import type { Member } from '../../../core/roster.js'
import { FLAG } from '../../../vote/evidence.js'
import { rosterOf, ZONE } from './cast.js'
import type { Speech, SpokenHeader } from './speech.js'

/** A record is made anew so often: as old as the zone's records are on average. */
const RECORD_PERIOD_MS = 10_000
/** The youngest that a record is when it reaches a third party. */
const LEAST_AGE_MS = 1_000
/** So long after a member died its observers have agreed on it. */
const SEEN_MS = 4_000

export interface TopologyOptions {
  readonly meshMax: number
  readonly ringObservers: number
}

/**
 * What the zone knows, as every peer of the world tells it: one table for all of them, since what they would know
 * differs by seconds only.
 */
export class Records implements Speech {
  readonly table: RecordTable
  readonly zone = zoneHash('', ZONE)
  readonly #writer: BodyWriter
  readonly #clock: Clock
  readonly #keys: KeyRing
  readonly #draft: RecordDraft
  readonly #diedAt = new Map<string, number>()
  readonly #agent: number

  constructor(
    members: readonly Member[],
    agent: Member,
    seams: { readonly clock: Clock; readonly keys: KeyRing; readonly topology: TopologyOptions },
  ) {
    this.#clock = seams.clock
    this.#keys = seams.keys
    const other = members.find(member => member !== agent) ?? agent
    const roster = rosterOf(members, other)
    const heartbeat = new Heartbeat(seams.clock, undefined, () => undefined)
    this.table = new RecordTable(roster, topologyFor(seams.topology)(roster), {
      clock: seams.clock,
      heartbeat,
      recordTtlMs: 60_000,
    })
    // The table takes what its own node says from nobody: without this the agent would ask that one twice in each round.
    this.table.setOwnFlags(FLAG.kubeletWell, -Infinity)
    this.#writer = new BodyWriter(this.table)
    this.#draft = this.table.makeDraft()
    this.#agent = roster.indexOf(agent.name)!
  }

  died(name: string): void {
    this.#diedAt.set(name, this.#clock.now())
  }

  revived(name: string): void {
    this.#diedAt.delete(name)
  }

  open(_index: number, bytes: Uint8Array): Opened {
    return open(bytes, this.zone, this.#keys)
  }

  /** What the agent says is what all see. */
  take(): void {
    return undefined
  }

  /** The whole state as `index` sends it now. */
  message(index: number, header: SpokenHeader): Buffer {
    const now = this.#clock.now()
    const isEmpty = header.isEmpty === true
    if (!isEmpty) this.#bringUpToDate(index, now)
    const baseHb = this.table.hb[index]!
    const keySetHash = this.#keys.setHash
    const body = this.#writer.encode(
      { sparse: false, suspects: [], keySetHash, baseHb, isEmpty },
      now,
    )
    return seal(
      {
        ...header,
        flags: 0,
        membershipHash: this.table.hash,
        senderId: this.table.roster.members[index]!.id,
        baseHb,
        count: isEmpty ? 0 : this.table.size,
      },
      body,
      this.zone,
      this.#keys.primary,
    )
  }

  /** Everybody's newest record; the sender's own is of this moment. */
  #bringUpToDate(sender: number, now: number): void {
    const { table } = this
    const { members } = table.roster
    const down = members.flatMap(({ name }, index) => {
      const diedAt = this.#diedAt.get(name)
      return diedAt !== undefined && now - diedAt > SEEN_MS ? [index] : []
    })
    for (let origin = 0; origin < table.size; origin++) {
      if (origin === this.#agent) continue
      const phase = (origin * 7_919) % RECORD_PERIOD_MS
      const age = origin === sender ? 0 : LEAST_AGE_MS + ((now + phase) % RECORD_PERIOD_MS)
      const madeAt = Math.min(now - age, this.#diedAt.get(members[origin]!.name) ?? Infinity)
      this.#put(origin, madeAt, down)
    }
  }

  #put(origin: number, madeAt: number, down: readonly number[]): void {
    const { table } = this
    const draft = this.#draft
    draft.origin = origin
    draft.producedAt = madeAt
    // Heartbeats follow Unix seconds, as the agents' own do.
    draft.hb = Math.floor((this.#clock.wall() - this.#clock.now() + madeAt) / 1_000)
    draft.flags = FLAG.kubeletWell
    draft.cloudCutAt = -Infinity
    draft.down.fill(0)
    draft.anyDown = false
    for (const target of down) {
      const slot = target === origin ? -1 : table.topology.slotOf(origin, target)
      if (slot < 0) continue
      draft.down[slot >> 3]! |= 1 << (slot & 7)
      draft.anyDown = true
    }
    table.merge(draft)
  }
}
