// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { ChildKind, Json } from '../model/grid.js'
import type { Child } from '../model/render.js'
import type { UnitFailure } from '../model/status.js'

/** The apiserver's no to one child, which is not asked about anew too often. */
interface RefusedChild {
  readonly child: Child
  readonly failure: UnitFailure
  readonly count: number
  /** Clock.now */
  readonly retryAt: number
}

const FIRST_RETRY_MS = 5_000
const LAST_RETRY_MS = 300_000
/** A write that cannot be seen for so long is not waited for: the server lost versions, or the watch is cut. */
const PATIENCE_MS = 15_000

/** The greater of two versions; they are numbers that grow, though the API long promised nothing of it. */
const later = (a: string | undefined, b: string): string =>
  a === undefined || b.length > a.length || (b.length === a.length && b > a) ? b : a

/** What is remembered of one grid while it lives: nothing that a restart could not do without. */
export class GridMemory {
  readonly #clock: Clock
  readonly uid: string
  /** Revisions and template keys that the apiserver would take. */
  readonly checked = new Set<string>()
  /** The status that was written last; undefined: none yet. */
  told:
    | {
        readonly status: Json
        readonly version: string
        /** Clock.now */
        readonly at: number
        /** How many before it told of nothing but other counts, one soon after the other. */
        readonly inRow: number
      }
    | undefined
  /** What Events told already. */
  readonly said = new Map<string, string>()
  readonly #refused = new Map<string, RefusedChild>()
  readonly #versions = new Map<ChildKind, string>()
  #writtenAt = -Infinity

  constructor(clock: Clock, uid: string) {
    this.#clock = clock
    this.uid = uid
  }

  wrote(kind: ChildKind, version: string): void {
    this.#versions.set(kind, later(this.#versions.get(kind), version))
    this.#writtenAt = this.#clock.now()
  }

  /** Whether all that was written can be seen, or has been waited for long enough. */
  isSettled(hasReached: (kind: ChildKind, version: string) => boolean): boolean {
    if (this.#clock.now() - this.#writtenAt > PATIENCE_MS) this.#versions.clear()
    for (const [kind, version] of this.#versions)
      if (hasReached(kind, version)) this.#versions.delete(kind)
    return this.#versions.size === 0
  }

  refused(child: Child, failure: UnitFailure): void {
    const key = `${child.kind} ${child.name}`
    const known = this.#refused.get(key)
    const count = (known?.child === child ? known.count : 0) + 1
    const wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(count - 1, 10))
    this.#refused.set(key, { child, failure, count, retryAt: this.#clock.now() + wait })
  }

  accepted({ kind, name }: Child): void {
    this.#refused.delete(`${kind} ${name}`)
  }

  /** Why this very child need not be tried yet. */
  refusalOf(child: Child): UnitFailure | undefined {
    const known = this.#refused.get(`${child.kind} ${child.name}`)
    return known?.child === child && known.retryAt > this.#clock.now() ? known.failure : undefined
  }

  /** In how many milliseconds the first of these that were refused may be tried again. */
  retryMs(children: readonly Child[]): number | undefined {
    const now = this.#clock.now()
    const times = children.flatMap(child => {
      const known = this.#refused.get(`${child.kind} ${child.name}`)
      return known?.child === child && known.retryAt > now ? known.retryAt - now : []
    })
    return times.length === 0 ? undefined : Math.min(...times)
  }
}
