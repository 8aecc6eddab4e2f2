// SPDX-License-Identifier: Apache-2.0
import { hash } from 'node:crypto'
import { followsLink, saltOf } from './link-chain.js'
import type { Verifier } from './node-keys.js'
import { OriginClock } from './origin-clock.js'
import {
  compareStatements,
  isSignedBy,
  QUARTER_MS,
  type Origin,
  type ReceivedStatement,
} from './statement.js'

/** How far into a statement's life its node has come. */
export interface Progress {
  /** Quarters of a second since the statement's time. */
  readonly quarters: number
  /** The link of that slot; undefined in slot 0, which the statement itself proves. */
  readonly link: Uint8Array | undefined
}

/** What became of something that a peer passed on. */
export type Taken =
  /** It is newer than what was known. */
  | { readonly kind: 'newer'; readonly isOtherContent: boolean }
  | { readonly kind: 'known' }
  /** The node began another epoch a moment ago: this one counts a little later, if it is shown again. */
  | { readonly kind: 'early' }
  /** It is signed for other keys than those that we know: they are to be read again. */
  | { readonly kind: 'other-generation' }
  /** Nobody who has the node's keys made it: whoever passes it on lies, or was lied to. */
  | { readonly kind: 'forged'; readonly reason: 'signature' | 'link' }

/** A node begins another epoch when it starts, or was suspended: not more often. */
const EPOCH_MS = 10_000
/** What is known of what one node says: its newest statement, and how long it has stood by it. */
export class MemberWord {
  readonly #origin: Origin
  readonly #generation: number
  readonly #verify: Verifier
  #received: ReceivedStatement | undefined
  #salt = ''
  #quarters = 0
  #slot = 0
  #link: Buffer = Buffer.alloc(0)
  #clock = new OriginClock()
  #epochAt = -Infinity
  #madeAt = -Infinity
  #equivocations = 0

  /** @param verify with the keys of this generation, as the node published them */
  constructor(origin: Origin, generation: number, verify: Verifier) {
    this.#origin = origin
    this.#generation = generation
    this.#verify = verify
  }

  /** Its newest statement. */
  get received(): ReceivedStatement | undefined {
    return this.#received
  }

  /** Quarters of a second since the statement's time, and the newest link. */
  get progress(): Progress {
    return { quarters: this.#quarters, link: this.#slot === 0 ? undefined : this.#link }
  }

  /** When the node last stood by it, in our time; −Infinity when nothing was heard. */
  get madeAt(): number {
    return this.#madeAt
  }

  /** Statements with the number of another one: its keys are on two machines, or it lies. */
  get equivocations(): number {
    return this.#equivocations
  }

  /** Whether a signature has to be proved to take it in: the one thing here that costs much. */
  isUnproved({ statement, bytes }: ReceivedStatement): boolean {
    const known = this.#received
    if (statement.generation !== this.#generation) return false
    return (
      known === undefined ||
      (compareStatements(statement, known.statement) >= 0 && !bytes.equals(known.bytes))
    )
  }

  /** Our own clock stood still, or was put back: when anything was made is not known, until the node shows more. */
  forgetAge(): void {
    this.#clock = new OriginClock()
    this.#madeAt = -Infinity
  }

  /**
   * A statement with how far its node has come since.
   * @param toldAge ms, as the relay says; Infinity when it says nothing
   */
  takeStatement(
    received: ReceivedStatement,
    progress: Progress,
    toldAge: number,
    now: number,
  ): Taken {
    if (received.statement.generation !== this.#generation) return { kind: 'other-generation' }
    const known = this.#received
    const order = known === undefined ? 1 : compareStatements(received.statement, known.statement)
    if (order < 0) return { kind: 'known' }
    if (known !== undefined && order === 0 && received.bytes.equals(known.bytes))
      return this.#advance(progress, toldAge, now)
    if (this.#isEarly(received, now)) return { kind: 'early' }
    if (!isSignedBy(received, this.#origin, this.#verify))
      return { kind: 'forged', reason: 'signature' }
    if (order === 0) {
      this.#equivocations++
      if (digest(received) < digest(known!)) return { kind: 'known' }
    }
    return this.#replace(received, progress, toldAge, now)
  }

  /** A newer time of the statement that is known, with the link of its slot. */
  takeProgress(progress: Progress, now: number): Taken {
    if (this.#received === undefined) return { kind: 'known' }
    return this.#advance(progress, Infinity, now)
  }

  #isEarly({ statement }: ReceivedStatement, now: number): boolean {
    const known = this.#received?.statement
    return known !== undefined && known.epoch !== statement.epoch && now - this.#epochAt < EPOCH_MS
  }

  #replace(received: ReceivedStatement, progress: Progress, toldAge: number, now: number): Taken {
    const { statement } = received
    const known = this.#received?.statement
    if (known !== undefined && known.epoch !== statement.epoch) {
      this.#clock = new OriginClock()
      this.#epochAt = now
    }
    this.#received = received
    this.#salt = saltOf({ ...this.#origin, epoch: statement.epoch, time: statement.time })
    this.#quarters = 0
    this.#slot = 0
    this.#link = statement.anchor
    this.#clock.prove(statement.time * QUARTER_MS, now)
    const advanced = this.#advance(progress, toldAge, now)
    // Where the relay is wrong about the links, its word of the age counts no more than they do.
    if (advanced.kind === 'known') this.#madeAt = this.#reckon(toldAge, now)
    else if (advanced.kind !== 'newer') this.#madeAt = this.#reckon(Infinity, now)
    return advanced.kind === 'forged' ? advanced : { kind: 'newer', isOtherContent: true }
  }

  #advance({ quarters, link }: Progress, toldAge: number, now: number): Taken {
    const { time, slot, logLinks } = this.#received!.statement
    if (quarters <= this.#quarters) return { kind: 'known' }
    const at = Math.floor(quarters / slot)
    const steps = at - this.#slot
    if (steps > 0) {
      const start = (time + at * slot) * QUARTER_MS
      if (at > 2 ** logLinks || link === undefined) return { kind: 'forged', reason: 'link' }
      if (!followsLink(this.#salt, this.#link, link, steps))
        return { kind: 'forged', reason: 'link' }
      this.#slot = at
      this.#link = Buffer.from(link)
      this.#clock.prove(start, now)
    }
    this.#quarters = quarters
    this.#madeAt = this.#reckon(toldAge, now)
    return { kind: 'newer', isOtherContent: false }
  }

  #reckon(toldAge: number, now: number): number {
    const { time } = this.#received!.statement
    return this.#clock.madeAt((time + this.#quarters) * QUARTER_MS, now, toldAge)
  }
}

const digest = ({ bytes }: ReceivedStatement): string => hash('sha256', bytes, 'hex')
