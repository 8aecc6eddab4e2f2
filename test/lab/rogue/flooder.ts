// SPDX-License-Identifier: Apache-2.0
// A stolen node that says as much as it can: each message has the newest of its own news, rightly signed, and wrong news of
// all others.
import { randomBytes } from 'node:crypto'
import type { Entry } from '../../../agent/identity/entries.js'
import { LINK_BYTES } from '../../../agent/identity/link-chain.js'
import { SIGNATURE_BYTES } from '../../../agent/identity/node-keys.js'
import { QUARTER_MS, sealStatement, type Statement } from '../../../agent/identity/statement.js'
import type { PlacedEntry } from '../../../agent/stages/exchange/signed-body.js'
import { systemClock } from '../../../core/clock.js'
import { Insider, type Said, type Stolen } from './insider.js'
import type { Lie, LieOrder, Pace, Talk } from './liar.js'

/** Requests under way to one receiver. */
const LANES = 4
/** News of one member is proved three times a second; of two in a quarter of one the second would be dated ahead. */
const NEWS_MS = QUARTER_MS
/** Times travel as a remainder of this. */
const TIME_STEPS = 256
/** Of so many wrong entries one is a link: signatures cost more. */
const LINK_EVERY = 4
/** Later than what anybody has said. */
const AHEAD_QUARTERS = 100

export class Flooder extends Insider {
  protected override readonly pace: Pace
  #saidAt = -Infinity
  #says = 0
  #turn = 0

  constructor(order: LieOrder, stolen: Stolen, count: (answer: string) => void) {
    super(order, stolen, count)
    const receivers = this.table.size - 1
    this.pace = { lanes: LANES, everyMs: (1_000 * LANES * receivers) / this.lies.perSecond }
  }

  protected override say(talk: Talk): Lie {
    return { bytes: this.seal(talk, this.body(), this.keyWith(talk), { count: 0 }) }
  }

  /** It takes its votes back, and casts them again. */
  protected override body(): Buffer {
    const now = systemClock.now()
    if (now - this.#saidAt >= NEWS_MS) {
      this.#saidAt = now
      this.statement.say({ ...this.content, down: this.#says++ % 2 === 0 ? [] : this.content.down })
    }
    return super.body()
  }

  /** The receiver is among them. */
  protected override aboutOthers(): readonly PlacedEntry[] {
    return [...this.said]
      .filter(([place]) => place !== this.table.self)
      .map(([place, said]) => ({ place, entry: this.#wrong(place, said) }))
  }

  #wrong(place: number, said: Said): Entry {
    return this.#turn++ % LINK_EVERY === 0
      ? wrongLink(said.received.statement)
      : this.#badSignature(place, said)
  }

  #badSignature(place: number, said: Said): Entry {
    const { statement: known } = said.received
    const statement = { ...known, time: known.time + AHEAD_QUARTERS }
    const origin = { zoneHash: this.zone, id: this.table.roster.members[place]!.id }
    const bytes = sealStatement(statement, origin, () => randomBytes(SIGNATURE_BYTES))
    const progress = { quarters: 0, link: undefined }
    return { kind: 'statement', received: { statement, bytes }, progress, age: 0 }
  }
}

/** A sign of life of the next slot: all clocks of the lab are one. */
const wrongLink = ({ slot }: Statement): Entry => {
  const time = (Math.floor(systemClock.wall() / QUARTER_MS) + slot) % TIME_STEPS
  return { kind: 'link', time, link: randomBytes(LINK_BYTES).toString('hex') }
}
