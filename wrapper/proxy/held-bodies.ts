// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/clock.js'
import { TimeoutError } from '../../core/errors.js'
import { Refusal, tooLarge } from '../../kube/server/status.js'
import { ByteBudget, OverBudgetError, type ByteHold } from '../../net/byte-budget.js'
import { readWhole } from '../../net/read-whole.js'

/** Of all bodies that are held at a time. */
const TOTAL_BYTES = 12 << 20
/** What kube-apiserver takes. */
const MAX_BODY_BYTES = 3 << 20
/** What it answers about one object is not much longer. */
const MAX_ANSWER_BYTES = 8 << 20
const BODY_MS = 30_000

const bodyTooLarge = (): Error => tooLarge(`the request is larger than ${MAX_BODY_BYTES} bytes`)
const answerTooLarge = (): Error =>
  new RangeError(`its answer is larger than ${MAX_ANSWER_BYTES} bytes`)

const noRoom = (): Refusal =>
  new Refusal(429, 'TooManyRequests', 'no room for one more body; try again', {
    details: { retryAfterSeconds: 1 },
  })

/** Bodies that must be read whole: few, for a short time, and never more than fit. */
export class HeldBodies {
  readonly #clock: Clock
  readonly #budget = new ByteBudget({ total: TOTAL_BYTES, perSource: TOTAL_BYTES })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** What is held now. */
  get bytes(): number {
    return this.#budget.held
  }

  /** Count what `use` reads of a request and of its answer until that ends. */
  async during<T>(use: (hold: ByteHold) => Promise<T>): Promise<T> {
    const hold = this.#budget.open({ key: 'clients', isMember: false })
    try {
      return await use(hold)
    } catch (error) {
      throw error instanceof OverBudgetError ? noRoom() : error
    } finally {
      hold.free()
    }
  }

  /** A client that takes too long is cut. @throws Refusal 413, OverBudgetError */
  async ofRequest(request: IncomingMessage, hold: ByteHold): Promise<Buffer> {
    const cut = (): void => void request.destroy(new TimeoutError(BODY_MS))
    const cancel = this.#clock.after(BODY_MS, cut)
    // Who is refused must live to hear it; what still comes is dropped.
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
