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

/** Up to when a node has proved that its statement still holds. */
export interface Progress {
  /** Quarters of a second since the statement's time. */
  readonly quarters: number
  /** The link of that slot; undefined in slot 0, which the statement's signature proves. */
  readonly link: string | undefined
}

/** The outcome of taking in an entry that a peer passed on. */
export type Taken =
  /** It is newer than what was known. */
  | { readonly kind: 'newer'; readonly isOtherContent: boolean }
  | { readonly kind: 'known' }
  /** The node's last new epoch is less than 10 s old: this one is accepted later, if it is sent again. */
  | { readonly kind: 'early' }
  /** Signed with keys that are not known here: the node's annotation has to be read again. */
  | { readonly kind: 'other-generation' }
  /** Not made with the node's keys: the peer that passed it on lies, or was lied to. */
  | { readonly kind: 'forged'; readonly reason: 'signature' | 'link' }

/** Nothing is new. */
export const KNOWN: Taken = { kind: 'known' }
const NEWER_TIME: Taken = { kind: 'newer', isOtherContent: false }

/** A node begins another epoch at each start and after each suspension: at most once in this time. */
const EPOCH_MS = 10_000

/** The newest statement of one member, and up to when the member has proved that it still holds. */
export class MemberStatement {
  readonly #origin: Origin
  readonly #generation: number
  readonly #verify: Verifier
  #received: ReceivedStatement | undefined
  #salt = ''
  readonly #progress: { quarters: number; link: string | undefined } = {
    quarters: 0,
    link: undefined,
  }
  #slot = 0
  #clock = new OriginClock()
  #epochAt = -Infinity
  #madeAt = -Infinity
  #equivocations = 0

  /** @param verify verifies signatures made with the keys that the node published with this generation */
  constructor(origin: Origin, generation: number, verify: Verifier) {
    this.#origin = origin
    this.#generation = generation
    this.#verify = verify
  }

  get received(): ReceivedStatement | undefined {
    return this.#received
  }

  /** Live: it changes as entries are taken in. */
  get progress(): Progress {
    return this.#progress
  }

  /** When the node last proved that the statement holds, by `Clock.now` here; −Infinity when nothing was heard. */
  get madeAt(): number {
    return this.#madeAt
  }

  /** How often two different statements had the same epoch and time: the node's keys are on two machines, or it lies. */
  get equivocations(): number {
    return this.#equivocations
  }

  /** Whether taking it in requires verifying a signature, some 110 µs. */
  isUnproved({ statement, bytes }: ReceivedStatement): boolean {
    const known = this.#received
    if (statement.generation !== this.#generation) return false
    return (
      known === undefined ||
      (compareStatements(statement, known.statement) >= 0 && !bytes.equals(known.bytes))
    )
  }

  /**
   * Whether it changes the epoch too soon after the last change; then it is not verified. Epochs that are further apart
   * by the node's own clock are never too soon: otherwise an attacker who kept statements of earlier epochs could replay
   * them one by one to an agent that has just started.
   */
  isEarly({ statement }: ReceivedStatement, now: number): boolean {
    const known = this.#received?.statement
    return (
      known !== undefined &&
      known.epoch !== statement.epoch &&
      now - this.#epochAt < EPOCH_MS &&
      (statement.time - known.time) * QUARTER_MS < EPOCH_MS
    )
  }

  /** This agent was suspended: the statement's age is unknown until the node proves a later time. */
  forgetAge(): void {
    this.#clock = new OriginClock()
    this.#madeAt = -Infinity
  }

  /**
   * Take in a statement and how far its links go.
   * @param relayedAge milliseconds, as reported by the peer that passed it on; Infinity when it reports none
   */
  takeStatement(
    received: ReceivedStatement,
    progress: Progress,
    relayedAge: number,
    now: number,
  ): Taken {
    if (received.statement.generation !== this.#generation) return { kind: 'other-generation' }
    const known = this.#received
    const order = known === undefined ? 1 : compareStatements(received.statement, known.statement)
    if (order < 0) return { kind: 'known' }
    if (known !== undefined && order === 0 && received.bytes.equals(known.bytes))
      return this.#advance(progress, relayedAge, now)
    if (this.isEarly(received, now)) return { kind: 'early' }
    if (!isSignedBy(received, this.#origin, this.#verify))
      return { kind: 'forged', reason: 'signature' }
    if (order === 0) {
      this.#equivocations++
      if (digest(received) < digest(known!)) return { kind: 'known' }
    }
    return this.#replace(received, progress, relayedAge, now)
  }

  /** Take in a later time of the known statement, with the link of its slot. */
  takeProgress(progress: Progress, now: number): Taken {
    if (this.#received === undefined) return { kind: 'known' }
    return this.#advance(progress, Infinity, now)
  }

  #replace(
    received: ReceivedStatement,
    progress: Progress,
    relayedAge: number,
    now: number,
  ): Taken {
    const { statement } = received
    const known = this.#received?.statement
    if (known !== undefined && known.epoch !== statement.epoch) {
      this.#clock = new OriginClock()
      this.#epochAt = now
    }
    this.#received = received
    this.#salt = saltOf({ ...this.#origin, epoch: statement.epoch, time: statement.time })
    this.#progress.quarters = 0
    this.#progress.link = undefined
    this.#slot = 0
    this.#clock.prove(statement.time * QUARTER_MS, now)
    const advanced = this.#advance(progress, relayedAge, now)
    // A peer whose link is wrong is not believed about the age either.
    if (advanced.kind === 'known') this.#madeAt = this.#reckon(relayedAge, now)
    else if (advanced.kind !== 'newer') this.#madeAt = this.#reckon(Infinity, now)
    return advanced.kind === 'forged' ? advanced : { kind: 'newer', isOtherContent: true }
  }

  #advance({ quarters, link }: Progress, relayedAge: number, now: number): Taken {
    const { time, slot, logLinks, anchor } = this.#received!.statement
    const known = this.#progress
    if (quarters <= known.quarters) return KNOWN
    const at = Math.floor(quarters / slot)
    const steps = at - this.#slot
    if (steps > 0) {
      if (at > 2 ** logLinks || link === undefined) return { kind: 'forged', reason: 'link' }
      if (!followsLink(this.#salt, known.link ?? anchor, link, steps))
        return { kind: 'forged', reason: 'link' }
      this.#slot = at
      known.link = link
      this.#clock.prove((time + at * slot) * QUARTER_MS, now)
    }
    known.quarters = quarters
    this.#madeAt = this.#reckon(relayedAge, now)
    return NEWER_TIME
  }

  #reckon(relayedAge: number, now: number): number {
    const { time } = this.#received!.statement
    return this.#clock.madeAt((time + this.#progress.quarters) * QUARTER_MS, now, relayedAge)
  }
}

const digest = ({ bytes }: ReceivedStatement): string => hash('sha256', bytes, 'hex')
