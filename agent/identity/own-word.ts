// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { FLAG } from '../../vote/evidence.js'
import type { Progress } from './member-word.js'
import { makeVerifier, type NodeKeys, type Verifier } from './node-keys.js'
import { SignedWord } from './signed-word.js'
import {
  compareStatements,
  heartbeatAt,
  isSignedBy,
  QUARTER_MS,
  type Origin,
  type ReceivedStatement,
  type Statement,
} from './statement.js'

/** What this node says. Lists are ascending. */
export interface OwnContent extends Pick<
  Statement,
  'flags' | 'membershipHash' | 'down' | 'notLooked' | 'standsInFor'
> {
  /** Since when the apiserver is out of reach, by `Clock.now`; read with `FLAG.cloudCut` alone. */
  readonly cutAt: number
}

interface OwnWordSeams {
  readonly clock: Clock
  /** `LINK_BYTES` at random, new ones each time. */
  readonly seed: () => Uint8Array
  /** Where the records of this node go on in the order of `EHP1`: above `floor`. */
  readonly nextHeartbeat: (floor: number) => number
  /** Remember an epoch over a restart: no later life may use it again. */
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

/** All that others may pass on of this node: its statement, and how long it has stood by it. */
export interface OwnNews {
  readonly received: ReceivedStatement
  readonly progress: Progress
}

/** What this node says, signed: a new statement when it changes, and a link of its chain for each slot until then. */
export class OwnWord {
  readonly #identity: OwnIdentity
  readonly #seams: OwnWordSeams
  readonly #verify: Verifier
  readonly #slot: number
  /** Quarters of a second since 1970 when `Clock.now` was 0, as believed when the epoch began. */
  #base = 0
  /** The newest time that was shown in this epoch. */
  #shown = -1
  #epoch: number
  /** The newest one that others may have reckoned. */
  #heartbeat = 0
  #content: OwnContent
  #word!: SignedWord

  /** @param slot quarters of a second that a link stands for, 2 to 32 */
  constructor(identity: OwnIdentity, slot: number, content: OwnContent, seams: OwnWordSeams) {
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

  /** @returns whether it differs from what was said before */
  say(content: OwnContent): boolean {
    if (isSame(content, this.#content)) return false
    this.#content = content
    this.#seal()
    return true
  }

  /** As of now. */
  news(): OwnNews {
    if (this.#quartersNow() >= this.#word.quarters) this.#seal()
    const { received } = this.#word
    const quarters = this.#quartersNow()
    this.#shown = this.#timeNow()
    this.#heartbeat = heartbeatAt(received.statement, quarters)
    return { received, progress: this.#word.progressAt(quarters) }
  }

  /** This node was suspended, or others know more of it than it does: its clock is read anew. */
  beginEpoch(): void {
    const { clock, save } = this.#seams
    this.#epoch = Math.min(MAX_EPOCH, this.#epoch + 1)
    save(this.#epoch)
    this.#shown = -1
    // Rounded up: with `now` rounded down it is never below 0.
    this.#base = Math.ceil((Math.max(0, clock.wall()) - clock.now()) / QUARTER_MS)
    this.#seal()
  }

  /**
   * Somebody shows a statement in our name.
   * @returns whether it is a later one of another life of this node: of an image of its disk or memory that was put
   * back, or of another machine with its keys. Then ours begins anew above it.
   */
  refute(shown: ReceivedStatement): boolean {
    const { origin, generation } = this.#identity
    const mine = this.#word.received
    if (shown.statement.generation !== generation || shown.bytes.equals(mine.bytes)) return false
    if (compareStatements(shown.statement, mine.statement) < 0) return false
    if (!isSignedBy(shown, origin, this.#verify)) return false
    this.#epoch = shown.statement.epoch
    this.beginEpoch()
    return true
  }

  #timeNow(): number {
    return this.#base + Math.floor(this.#seams.clock.now() / QUARTER_MS)
  }

  #quartersNow(): number {
    return this.#timeNow() - this.#word.received.statement.time
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
    this.#word = new SignedWord(origin, keys, says, seed())
  }

  /** Above all times that were shown: of two changes within a quarter of a second the second one is a quarter early. */
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
