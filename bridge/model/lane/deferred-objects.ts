// SPDX-License-Identifier: Apache-2.0
import type { DownstreamLimits } from './downstream-limits.js'

/** An object that the edge refused or did not acknowledge. It is tried again later, and other objects do not wait for it. */
export interface Deferral {
  readonly key: string
  readonly uid: string
  /** `no ack`, or the edge's error. */
  readonly reason: string
  /** Clock ms at which it is tried again. */
  readonly until: number
  /** How often it was deferred in a row. */
  readonly times: number
}

interface Deferred<Queue> extends Deferral {
  readonly queue: Queue
  /** When it is tried again if its content changes. Clock ms. */
  readonly soonest: number
}

/**
 * When objects that failed are tried again: each waits twice as long as the last time, until it succeeds or its content
 * changes. It has no clock. Each is kept with the queue of what waits behind it.
 */
export class DeferredObjects<Queue> {
  readonly #limits: Pick<DownstreamLimits, 'deferMs' | 'longestDeferMs'>
  readonly #spread: (ms: number) => number
  readonly #deferred = new Map<string, Deferred<Queue>>()
  /** How often in a row, by key; also of objects that are being tried again. */
  readonly #times = new Map<string, number>()

  /** @param spread adds jitter, so that objects which are deferred together are not tried again together */
  constructor(
    limits: Pick<DownstreamLimits, 'deferMs' | 'longestDeferMs'>,
    spread: (ms: number) => number,
  ) {
    this.#limits = limits
    this.#spread = spread
  }

  list(): readonly Deferral[] {
    return [...this.#deferred.values()].map(({ key, uid, reason, until, times }) => ({
      ...{ key, uid, reason, until, times },
    }))
  }

  /** When the next object is tried again; Infinity for never. Clock ms. */
  get nextAt(): number {
    return Math.min(Infinity, ...[...this.#deferred.values()].map(({ until }) => until))
  }

  defer(of: Pick<Deferral, 'key' | 'uid' | 'reason'>, queue: Queue, now: number): void {
    const { deferMs, longestDeferMs } = this.#limits
    const times = this.#times.get(of.key) ?? 0
    const waitMs = Math.min(longestDeferMs, deferMs * 2 ** times)
    this.#times.set(of.key, times + 1)
    this.#deferred.set(of.key, {
      ...{ ...of, queue, times: times + 1 },
      until: now + this.#spread(waitMs),
      soonest: now + this.#spread(deferMs),
    })
  }

  /** Remove those whose wait is over. */
  takeDue(now: number): readonly Queue[] {
    const due = [...this.#deferred.values()].filter(({ until }) => until <= now)
    for (const { key } of due) this.#deferred.delete(key)
    return due.map(({ queue }) => queue)
  }

  /** Remove all. If they fail again they wait longer than the last time. */
  takeAll(): readonly Queue[] {
    const all = [...this.#deferred.values()].map(({ queue }) => queue)
    this.#deferred.clear()
    return all
  }

  /** The object's content changed: it waits as after a first failure. */
  changed(key: string): void {
    this.#times.delete(key)
    const deferred = this.#deferred.get(key)
    if (deferred === undefined || deferred.until <= deferred.soonest) return
    this.#deferred.set(key, { ...deferred, until: deferred.soonest })
  }

  succeeded(key: string): void {
    this.#times.delete(key)
    this.#deferred.delete(key)
  }
}
