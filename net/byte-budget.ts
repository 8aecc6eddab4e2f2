// SPDX-License-Identifier: Apache-2.0
import { EdgeHealthError } from '../core/errors.js'

/** Who sends a body. Each source has a limit of its own; the reserve is for members alone. */
export interface Source {
  readonly key: string
  readonly isMember: boolean
}

/** How many bytes of request bodies may be buffered at the same time. */
export interface ByteLimits {
  /** By all sources together. */
  readonly total: number
  /** By one source. */
  readonly perSource: number
  /** How much of the total is kept for members. @default 0 */
  readonly reserved?: number
}

/** The budget for buffered bodies is used up; the sender may try again later. */
export class OverBudgetError extends EdgeHealthError {
  constructor(source: string, bytes: number) {
    super(
      'OVER_BUDGET',
      `cannot buffer ${bytes} more bytes of a body from ${source}: the limit is reached`,
    )
  }
}

/** The part of the budget that one body uses. */
export interface ByteHold {
  /** Reserve so many more bytes. @throws OverBudgetError, and then reserves nothing */
  take(bytes: number): void
  /** Give all of it back. May be called twice. */
  free(): void
}

/** Bounds the memory for bodies that others send, however many send at once. */
export class ByteBudget {
  readonly #limits: ByteLimits
  readonly #bySource = new Map<string, number>()
  #held = 0

  constructor(limits: ByteLimits) {
    this.#limits = limits
  }

  /** Bytes that are in use now. */
  get held(): number {
    return this.#held
  }

  /** Begin to buffer a body; `free` must follow, whatever becomes of it. */
  open({ key, isMember }: Source): ByteHold {
    const { total, perSource, reserved = 0 } = this.#limits
    const limit = isMember ? total : total - reserved
    let own = 0
    return {
      take: bytes => {
        const ofSource = this.#bySource.get(key) ?? 0
        if (ofSource + bytes > perSource || this.#held + bytes > limit)
          throw new OverBudgetError(key, bytes)
        this.#add(key, bytes)
        own += bytes
      },
      free: () => {
        this.#add(key, -own)
        own = 0
      },
    }
  }

  #add(key: string, bytes: number): void {
    this.#held += bytes
    const next = (this.#bySource.get(key) ?? 0) + bytes
    if (next > 0) this.#bySource.set(key, next)
    else this.#bySource.delete(key)
  }
}
