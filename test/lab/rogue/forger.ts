// SPDX-License-Identifier: Apache-2.0
// Whoever holds the zone's key and nothing else: well-formed, rightly signed `EHP1` messages with whatever content it likes.
import { MAX_HEARTBEAT } from '../../../agent/records/heartbeat.js'
import { BodyReader } from '../../../agent/stages/exchange/body-reader.js'
import { BodyWriter } from '../../../agent/stages/exchange/body-writer.js'
import { open, TYPE } from '../../../agent/stages/exchange/wire.js'
import { systemClock } from '../../../core/clock.js'
import { FLAG } from '../../../vote/evidence.js'
import { Liar, type Lie, type LieOrder, type Talk } from './liar.js'

/** Above what was last heard, so that the true record is a while behind. */
const AHEAD = 5

export class Forger extends Liar {
  readonly #reader: BodyReader
  readonly #writer: BodyWriter

  constructor(order: LieOrder, count: (answer: string) => void) {
    super(order, count)
    this.#reader = new BodyReader(this.table)
    this.#writer = new BodyWriter(this.table)
  }

  protected say(talk: Talk): Lie {
    this.#forge()
    const { table, keys } = this
    const baseHb = table.hb[table.self]!
    const order = { sparse: false, keySetHash: keys.setHash, baseHb, suspects: [] }
    const body = this.#writer.encode(order, systemClock.now())
    return { bytes: this.seal(talk, body, keys.primary, { count: table.size }) }
  }

  /** What the others say, so that the lies stay ahead of it. */
  protected hear(talk: Talk, answer: Uint8Array): void {
    const reply = open(answer, this.zone, this.keys)
    if (!reply.ok) return
    const { header, body } = reply
    this.heard(talk, header)
    if (header.type !== TYPE.challenge && this.#reader.canRead(header))
      this.#reader.read(header, body, systemClock.now(), draft => this.table.merge(draft))
  }

  #forge(): void {
    const { table, lies } = this
    const { roster, self } = table
    for (const name of lies.down) table.setOwnVote(roster.indexOf(name) ?? -1, 'down', 2)
    table.setOwnFlags(FLAG.kubeletWell, -Infinity)
    table.beat()
    for (const member of roster.members) {
      const isSilenced = lies.silenced.includes(member.name)
      const isForged = lies.inAllNames || isSilenced
      const origin = roster.indexOf(member.name)!
      if (isForged && origin !== self) this.#forgeOf(origin, member.name, isSilenced)
    }
  }

  #forgeOf(origin: number, name: string, isSilenced: boolean): void {
    const { table, lies } = this
    const isCut = lies.cut.includes(name)
    const draft = table.makeDraft()
    draft.origin = origin
    draft.hb = isSilenced ? MAX_HEARTBEAT : Math.max(table.hb[origin]!, nowSeconds()) + AHEAD
    draft.producedAt = systemClock.now()
    draft.flags =
      (lies.inAllNames ? FLAG.kubeletWell : FLAG.selfSuspect) | (isCut ? FLAG.cloudCut : 0)
    draft.cloudCutAt = isCut ? systemClock.now() - 60_000 : -Infinity
    for (const victim of lies.down) {
      const slot = table.topology.slotOf(origin, table.roster.indexOf(victim) ?? -1)
      if (slot < 0) continue
      draft.anyDown = true
      draft.down[slot >> 3]! |= 1 << (slot & 7)
    }
    table.merge(draft)
  }
}

const nowSeconds = (): number => Math.floor(systemClock.wall() / 1_000)
