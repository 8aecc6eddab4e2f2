// SPDX-License-Identifier: Apache-2.0
import { EdgeHealthError } from '../core/errors.js'

/** Who sends a body. Each source has a limit of its own; the reserve is for members only. */
export interface Source {
  readonly key: string
  readonly isMember: boolean
}

/** Limits of the memory for request bodies. */
export interface ByteLimits {
  /** For all sources together. */
  readonly total: number
  /** For one source. */
  readonly perSource: number
  /** How much of the total is kept for members. @default 0 */
  readonly reserved?: number
}

/** The budget for request bodies is used up; the sender may try again later. */
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
  /** Reserve more bytes. @throws OverBudgetError, and then reserves nothing */
  take(bytes: number): void
  /** Release all of it. May be called twice. */
  free(): void
}

/** A body that is being buffered. */
interface Body {
  held: number
  isEnded: boolean
  readonly isMember: boolean
  /** Called to drop it in favour of others; undefined: it is never dropped. */
  readonly end: (() => void) | undefined
}

/** Bounds the memory for bodies that others send, however many send at once. */
export class ByteBudget {
  readonly #limits: ByteLimits
  readonly #bySource = new Map<string, Set<Body>>()
  #held = 0

  constructor(limits: ByteLimits) {
    this.#limits = limits
  }

  /** Bytes reserved now. */
  get held(): number {
    return this.#held
  }

  /**
   * Begin to buffer a body; `free` must follow in any case. When a source's share is used up, its largest body is dropped
   * for smaller ones, so that a flood from a member's address cannot keep out the member's own short messages. When the
   * total is used up, the body of the stranger that holds most is dropped for one that would hold less.
   * @param onEvicted the body was dropped: disconnect its sender and discard what was buffered. @default it is never
   * dropped
   */
  open({ key, isMember }: Source, onEvicted?: () => void): ByteHold {
    const { total, perSource, reserved = 0 } = this.#limits
    const limit = isMember ? total : total - reserved
    const bodies = this.#bySource.get(key) ?? new Set()
    this.#bySource.set(key, bodies)
    const body: Body = { held: 0, isEnded: false, isMember, end: onEvicted }
    bodies.add(body)
    return {
      take: bytes => {
        if (!body.isEnded) {
          this.#makeRoom(bodies, body, bytes)
          while (this.#held + bytes > limit && this.#takeFromOthers(sumOf(bodies) + bytes));
        }
        if (body.isEnded || sumOf(bodies) + bytes > perSource || this.#held + bytes > limit)
          throw new OverBudgetError(key, bytes)
        body.held += bytes
        this.#held += bytes
      },
      free: () => {
        this.#drop(body)
        bodies.delete(body)
        if (bodies.size === 0 && this.#bySource.get(key) === bodies) this.#bySource.delete(key)
      },
    }
  }

  #makeRoom(bodies: ReadonlySet<Body>, body: Body, bytes: number): void {
    while (sumOf(bodies) + bytes > this.#limits.perSource) {
      const largest = largestOf(bodies)
      if (largest?.end === undefined || largest.held <= body.held + bytes) return
      this.#drop(largest)
      largest.end()
    }
  }

  /** Drop a body of a stranger that holds more than `wanted`. @returns whether there was one */
  #takeFromOthers(wanted: number): boolean {
    const largest = [...this.#bySource.values()]
      .map(bodies => new Set([...bodies].filter(({ isMember }) => !isMember)))
      .filter(bodies => sumOf(bodies) > wanted)
      .sort((a, b) => sumOf(b) - sumOf(a))
      .flatMap(bodies => largestOf(bodies) ?? [])
      .find(({ held }) => held > 0)
    if (largest === undefined) return false
    this.#drop(largest)
    largest.end?.()
    return true
  }

  #drop(body: Body): void {
    this.#held -= body.held
    body.held = 0
    body.isEnded = true
  }
}

/** The largest of those that may be dropped. */
const largestOf = (bodies: ReadonlySet<Body>): Body | undefined => {
  const all = [...bodies].filter(({ end }) => end !== undefined)
  return all.sort((a, b) => b.held - a.held)[0]
}

const sumOf = (bodies: ReadonlySet<Body>): number => {
  let sum = 0
  for (const { held } of bodies) sum += held
  return sum
}
