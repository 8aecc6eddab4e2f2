// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'

/** A rate limit. */
export interface Rate {
  readonly perSecond: number
  /** How many may begin at once after a pause. */
  readonly burst: number
}

export interface PaceLimits {
  readonly all: Rate
  readonly perSource: Rate
}

/** A token bucket, stored as the time at which it is full again. */
class Bucket {
  readonly #everyMs: number
  readonly #slackMs: number
  #fullAt = -Infinity

  constructor({ perSecond, burst }: Rate) {
    this.#everyMs = 1_000 / perSecond
    this.#slackMs = (burst - 1) * this.#everyMs
  }

  isFull(now: number): boolean {
    return this.#fullAt <= now
  }

  /** When the next one may begin; in the past when it may begin now. */
  get freeAt(): number {
    return this.#fullAt - this.#slackMs
  }

  take(now: number): void {
    this.#fullAt = Math.max(this.#fullAt, now) + this.#everyMs
  }
}

interface Source {
  readonly bucket: Bucket
  readonly waiting: Set<() => void>
}

/** With more sources than this, those whose buckets are full again are dropped. */
const KNOWN = 4_096

/**
 * Limits the rate at which work begins, in total and per source; what is too early is queued. Sources are served
 * round-robin, so one that asks for much delays only itself.
 */
export class Pace {
  readonly #clock: Clock
  readonly #limits: PaceLimits
  readonly #all: Bucket
  readonly #sources = new Map<string, Source>()
  /** Sources with queued work, in round-robin order. */
  readonly #queued = new Map<string, Source>()
  #wakesAt = Infinity
  #cancelWake: () => void = () => undefined
  #waiting = 0

  constructor(limits: PaceLimits, clock: Clock) {
    this.#clock = clock
    this.#limits = limits
    this.#all = new Bucket(limits.all)
  }

  /** Queued work. */
  get waiting(): number {
    return this.#waiting
  }

  /** Sources in memory. */
  get known(): number {
    return this.#sources.size
  }

  /**
   * Begin now, or when the rate allows.
   * @returns undefined when it has begun; else a function that removes it from the queue, which may be called at any time
   */
  take(key: string, begin: () => void): (() => void) | undefined {
    const now = this.#clock.now()
    const source = this.#sourceOf(key, now)
    if (source.waiting.size === 0 && this.#freeAt(source) <= now) {
      this.#begin(source, now, begin)
      return undefined
    }
    source.waiting.add(begin)
    this.#waiting++
    this.#queued.set(key, source)
    this.#wake(this.#freeAt(source))
    return () => {
      if (!source.waiting.delete(begin)) return
      this.#waiting--
      if (source.waiting.size === 0) this.#queued.delete(key)
    }
  }

  #sourceOf(key: string, now: number): Source {
    const known = this.#sources.get(key)
    if (known !== undefined) return known
    if (this.#sources.size >= KNOWN) this.#forget(now)
    const source = { bucket: new Bucket(this.#limits.perSource), waiting: new Set<() => void>() }
    this.#sources.set(key, source)
    return source
  }

  #forget(now: number): void {
    for (const [key, { bucket, waiting }] of this.#sources)
      if (waiting.size === 0 && bucket.isFull(now)) this.#sources.delete(key)
  }

  #freeAt({ bucket }: Source): number {
    return Math.max(this.#all.freeAt, bucket.freeAt)
  }

  #begin({ bucket }: Source, now: number, begin: () => void): void {
    this.#all.take(now)
    bucket.take(now)
    begin()
  }

  #wake(at: number): void {
    if (at >= this.#wakesAt) return
    this.#cancelWake()
    this.#wakesAt = at
    const waitMs = Math.max(1, Math.ceil(at - this.#clock.now()))
    this.#cancelWake = this.#clock.after(waitMs, () => this.#serve())
  }

  /** Begin queued work of one source after another until the rate is used up. */
  #serve(): void {
    this.#wakesAt = Infinity
    const now = this.#clock.now()
    let isIdle = false
    while (!isIdle) {
      isIdle = true
      for (const [key, source] of [...this.#queued]) {
        if (this.#freeAt(source) > now) continue
        isIdle = false
        this.#serveOne(key, source, now)
      }
    }
    const next = Math.min(...[...this.#queued.values()].map(source => this.#freeAt(source)))
    if (next < Infinity) this.#wake(next)
  }

  #serveOne(key: string, source: Source, now: number): void {
    const [begin] = source.waiting
    if (begin === undefined) return
    source.waiting.delete(begin)
    this.#waiting--
    // The source goes to the end of the order.
    this.#queued.delete(key)
    if (source.waiting.size > 0) this.#queued.set(key, source)
    this.#begin(source, now, begin)
  }
}
