// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { ByteBudget, ByteHold } from '../../net/byte-budget.js'

interface IncompleteSeams {
  readonly clock: Clock
  /** Accounts for the memory of incomplete messages, of all connections. */
  readonly budget: ByteBudget
  readonly onTooMuch: (detail: string) => void
  readonly onTooSlow: () => void
}

/** As much of each connection is not accounted for, so that short messages cost nothing. */
const FREE_BYTES = 4 << 10
/** What a piece takes in memory besides its bytes, so that many tiny ones count as what they are. */
const PIECE_BYTES = 512
/**
 * A message takes no longer than this. Keepalives cannot overtake it, so one without pauses has less time; but an edge can
 * bring about pauses of reading, which extend the time for keepalives.
 */
const MESSAGE_MS = 300_000

/** The message of one connection that has not arrived completely: bounds its memory and its time. */
export class IncompleteMessage {
  readonly #seams: IncompleteSeams
  #hold: ByteHold | undefined
  #uncounted = 0
  #cancel: (() => void) | undefined

  constructor(seams: IncompleteSeams) {
    this.#seams = seams
  }

  /** A piece arrived. */
  add(bytes: number): void {
    this.#uncounted += bytes + PIECE_BYTES
    if (this.#uncounted < FREE_BYTES) return
    this.#hold ??= this.#open()
    const wanted = this.#uncounted
    this.#uncounted = 0
    try {
      this.#hold.take(wanted)
    } catch (error) {
      this.#seams.onTooMuch(reasonOf(error))
    }
  }

  /** It is complete, or the connection is over. What came of the next message with its last piece is not counted. */
  end(): void {
    this.#hold?.free()
    this.#hold = undefined
    this.#uncounted = 0
    this.#cancel?.()
  }

  #open(): ByteHold {
    const { clock, budget, onTooMuch, onTooSlow } = this.#seams
    this.#cancel = clock.after(MESSAGE_MS, onTooSlow)
    // All nodes count as one source: when the budget is full, the connection with the largest message ends, so no node can
    // keep others' messages out.
    return budget.open({ key: 'nodes', isMember: true }, () => onTooMuch('others need the room'))
  }
}
