// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from 'node:crypto'
import type { KnownStatement } from '../../../agent/identity/entries.js'
import { LINK_BYTES } from '../../../agent/identity/link-chain.js'
import type { NodeKeys } from '../../../agent/identity/node-keys.js'
import { SignedStatement } from '../../../agent/identity/signed-statement.js'
import type { Origin, Statement } from '../../../agent/identity/statement.js'

/** What a member says all the time. */
export type Saying = Omit<Statement, 'anchor' | 'logLinks' | 'time' | 'heartbeat'>

/** Statements that somebody in the zone still goes by: the newest, and the one before. */
const KEPT = 2

/** What a member of the world signs: always the same, in one statement after the other as their links run out. */
export class PlayedStatement {
  readonly #origin: Origin
  readonly #keys: Pick<NodeKeys, 'sign'>
  readonly #says: Saying
  readonly #first: SignedStatement
  readonly #statements = new Map<number, SignedStatement>()

  /** @param since when it began to say it, in quarters of a second since 1970 */
  constructor(origin: Origin, keys: Pick<NodeKeys, 'sign'>, says: Saying, since: number) {
    this.#origin = origin
    this.#keys = keys
    this.#says = says
    this.#first = this.#sign(since)
    this.#statements.set(0, this.#first)
  }

  /** What it says at an instant, in quarters of a second since 1970. @param madeAt the same by `Clock.now` */
  at(time: number, madeAt: number): KnownStatement {
    const { quarters, received } = this.#first
    const since = received.statement.time
    const turn = Math.max(0, Math.floor((time - since) / quarters))
    const statement = this.#statements.get(turn) ?? this.#next(turn, since + turn * quarters)
    const progress = statement.progressAt(Math.max(0, time - statement.received.statement.time))
    return { received: statement.received, progress, madeAt }
  }

  #next(turn: number, time: number): SignedStatement {
    const statement = this.#sign(time)
    this.#statements.set(turn, statement)
    this.#statements.delete(turn - KEPT)
    return statement
  }

  #sign(time: number): SignedStatement {
    const says = { ...this.#says, time, heartbeat: Math.floor(time / 4) }
    return new SignedStatement(this.#origin, this.#keys, says, randomBytes(LINK_BYTES))
  }
}
