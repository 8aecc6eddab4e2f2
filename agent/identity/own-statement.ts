// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { FLAG } from '../../vote/evidence.js'
import type { Progress } from './member-statement.js'
import { makeVerifier, type NodeKeys, type Verifier } from './node-keys.js'
import { SignedStatement } from './signed-statement.js'
import {
  compareStatements,
  heartbeatAt,
  isSignedBy,
  QUARTER_MS,
  type Origin,
  type ReceivedStatement,
  type Statement,
} from './statement.js'

/** What this node says of itself and others. Lists are ascending. */
export interface OwnContent extends Pick<
  Statement,
  'flags' | 'membershipHash' | 'down' | 'notLooked' | 'standsInFor'
> {
  /** Since when the apiserver is out of reach, by `Clock.now`; used only with `FLAG.cloudCut`. */
  readonly cutAt: number
}

interface OwnStatementSeams {
  readonly clock: Clock
  /** @returns `LINK_BYTES` random bytes, new ones each time */
  readonly seed: () => Uint8Array
  /** The next heartbeat of this node's records, above `floor`. */
  readonly nextHeartbeat: (floor: number) => number
  /** Save an epoch on disk: this node must never use one twice. */
  readonly save: (epoch: number) => void
}

interface OwnIdentity {
  readonly origin: Origin
  readonly keys: NodeKeys
  readonly generation: number
  /** The last epoch that was saved; 0 for none. */
  readonly savedEpoch: number
}

export const MAX_EPOCH = 0xffff_ffff

/** What others pass on about this node. */
export interface OwnNews {
  readonly received: ReceivedStatement
  readonly progress: Progress
}

/** What this node says, signed: a new statement when it changes, and until then a link of its chain for each slot. */
export class OwnStatement {
  readonly #identity: OwnIdentity
  readonly #seams: OwnStatementSeams
  readonly #verify: Verifier
  readonly #slot: number
  /** The time when `Clock.now` was 0, in quarters of a second since 1970, as believed when the epoch began. */
  #base = 0
  /** The newest time that was shown in this epoch. */
  #shown = -1
  #epoch: number
  /** The largest heartbeat that others may have computed from a statement. */
  #heartbeat = 0
  #content: OwnContent
  #statement!: SignedStatement

  /** @param slot quarters of a second that a link stands for, 2 to 32 */
  constructor(identity: OwnIdentity, slot: number, content: OwnContent, seams: OwnStatementSeams) {
    this.#identity = identity
    this.#seams = seams
    this.#verify = makeVerifier(identity.keys.public.signing)
    this.#slot = slot
    this.#epoch = identity.savedEpoch
    this.#content = content
    this.beginEpoch()
  }

  get epoch(): number {
    return this.#epoch
  }

  /** @returns whether the content differs from what was said before */
  say(content: OwnContent): boolean {
    if (isSame(content, this.#content)) return false
    this.#content = content
    this.#seal()
    return true
  }

  /** The statement and the link of the present slot; a new statement where the chain has run out. */
  news(): OwnNews {
    if (this.#quartersNow() >= this.#statement.quarters) this.#seal()
    const { received } = this.#statement
    const quarters = this.#quartersNow()
    this.#shown = this.#timeNow()
    this.#heartbeat = heartbeatAt(received.statement, quarters)
    return { received, progress: this.#statement.progressAt(quarters) }
  }

  /** Begin an epoch above all earlier ones: after a start, a suspension, or a statement of another run of this node. */
  beginEpoch(): void {
    const { clock, save } = this.#seams
    this.#epoch = Math.min(MAX_EPOCH, this.#epoch + 1)
    save(this.#epoch)
    this.#shown = -1
    // Rounded up, since `#timeNow` rounds down: a time is never below 0.
    this.#base = Math.ceil((Math.max(0, clock.wall()) - clock.now()) / QUARTER_MS)
    this.#seal()
  }

  /** Whether its signature must be verified: it seems to be a statement of ours that is not older than the present one. */
  isUnproved(shown: ReceivedStatement): boolean {
    const mine = this.#statement.received
    return (
      shown.statement.generation === this.#identity.generation &&
      !shown.bytes.equals(mine.bytes) &&
      compareStatements(shown.statement, mine.statement) >= 0
    )
  }

  /**
   * A peer passed on a statement in this node's name. One that is newer than ours comes from another run of this node (an
   * earlier image of its disk or memory was restored) or from another machine with its keys: we go on with a higher epoch.
   * @returns whether it was newer and validly signed
   */
  refute(shown: ReceivedStatement): boolean {
    if (!this.isUnproved(shown)) return false
    if (!isSignedBy(shown, this.#identity.origin, this.#verify)) return false
    this.#epoch = shown.statement.epoch
    this.beginEpoch()
    return true
  }

  #timeNow(): number {
    return this.#base + Math.floor(this.#seams.clock.now() / QUARTER_MS)
  }

  #quartersNow(): number {
    return this.#timeNow() - this.#statement.received.statement.time
  }

  #seal(): void {
    const { clock, seed, nextHeartbeat } = this.#seams
    const heartbeat = nextHeartbeat(this.#heartbeat)
    const { origin, keys, generation } = this.#identity
    const { cutAt, ...content } = this.#content
    const epoch = this.#epoch
    const time = this.#newTime()
    this.#shown = time
    const isCut = (content.flags & FLAG.cloudCut) !== 0
    const says = {
      ...content,
      ...{ generation, epoch, time, heartbeat, slot: this.#slot },
      cutFor: isCut ? Math.max(0, Math.floor((clock.now() - cutAt) / QUARTER_MS)) : 0,
    }
    this.#statement = new SignedStatement(origin, keys, says, seed())
  }

  /** Larger than all times shown before: the second of two changes within one quarter is dated a quarter ahead. */
  #newTime(): number {
    const now = this.#timeNow()
    if (now > this.#shown) return now
    this.#base += this.#shown + 1 - now
    return this.#shown + 1
  }
}

const isSame = (a: OwnContent, b: OwnContent): boolean =>
  a.flags === b.flags &&
  a.membershipHash === b.membershipHash &&
  ((a.flags & FLAG.cloudCut) === 0 || a.cutAt === b.cutAt) &&
  isSameList(a.down, b.down) &&
  isSameList(a.notLooked, b.notLooked) &&
  isSameList(a.standsInFor, b.standsInFor)

const isSameList = (a: readonly bigint[], b: readonly bigint[]): boolean =>
  a.length === b.length && a.every((id, at) => id === b[at])
