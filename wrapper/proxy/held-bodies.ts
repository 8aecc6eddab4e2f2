// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/clock.js'
import { TimeoutError } from '../../core/errors.js'
import { Refusal, tooLarge } from '../../kube/server/status.js'
import { ByteBudget, OverBudgetError, type ByteHold, type Source } from '../../net/byte-budget.js'
import { readWhole } from '../../net/read-whole.js'

/** For all buffered bodies together. */
const TOTAL_BYTES = 12 << 20
/** For members alone. What is left holds the largest request with its answer. */
const RESERVED_BYTES = 1 << 20
/** kube-apiserver's own limit. */
const MAX_BODY_BYTES = 3 << 20
/** Responses about one object are not much longer. */
const MAX_ANSWER_BYTES = 8 << 20
const BODY_MS = 30_000

const bodyTooLarge = (): Error => tooLarge(`the request is larger than ${MAX_BODY_BYTES} bytes`)
const answerTooLarge = (): Error =>
  new RangeError(`its answer is larger than ${MAX_ANSWER_BYTES} bytes`)

const noRoom = (): Refusal =>
  new Refusal(429, 'TooManyRequests', 'no room for one more body; try again', {
    details: { retryAfterSeconds: 1 },
  })

/** Buffers bodies that must be read whole: few, for a short time, and within a total. */
export class HeldBodies {
  readonly #clock: Clock
  readonly #budget = new ByteBudget({
    ...{ total: TOTAL_BYTES, perSource: TOTAL_BYTES, reserved: RESERVED_BYTES },
  })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Bytes that are buffered now. */
  get bytes(): number {
    return this.#budget.held
  }

  /**
   * Count what `use` buffers of a request and its response until it ends.
   * @param end disconnects the client. Called when a stranger who holds more than others has to give way; the write of a
   * member is never cut off
   */
  async during<T>(
    source: Source,
    end: () => void,
    use: (hold: ByteHold) => Promise<T>,
  ): Promise<T> {
    const hold = this.#budget.open(source, source.isMember ? undefined : end)
    try {
      return await use(hold)
    } catch (error) {
      throw error instanceof OverBudgetError ? noRoom() : error
    } finally {
      hold.free()
    }
  }

  /**
   * Read a request's body; a client that takes too long is disconnected.
   * @throws Refusal 413, OverBudgetError
   */
  async ofRequest(request: IncomingMessage, hold: ByteHold): Promise<Buffer> {
    const cut = (): void => void request.destroy(new TimeoutError(BODY_MS))
    const cancel = this.#clock.after(BODY_MS, cut)
    // A refused client must still get the answer: the rest of its body is read and dropped.
    const parts = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
    try {
      return await readWhole(parts, MAX_BODY_BYTES, bodyTooLarge, hold)
    } finally {
      cancel()
      request.resume()
    }
  }

  /** @throws RangeError, OverBudgetError */
  ofAnswer(answer: IncomingMessage, hold: ByteHold): Promise<Buffer> {
    return readWhole(answer, MAX_ANSWER_BYTES, answerTooLarge, hold)
  }
}
