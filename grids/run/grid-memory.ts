// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { id64 } from '../../core/ids.js'
import type { ChildKind, Json } from '../model/grid.js'
import type { ApplyOperation, Operation } from '../model/decide.js'
import type { Child } from '../model/child.js'
import type { UnitFailure } from '../model/status.js'
import { GoneUnits } from './gone-units.js'

/** Why a child could not be written, and when it is tried again. */
interface Trouble {
  /** What was to be written; the failure does not count for other content. */
  readonly wants: Child | string
  readonly failure: UnitFailure
  readonly count: number
  /** Clock.now */
  readonly retryAt: number
}

/** How often the same content was applied to a child. */
interface Applied {
  /** A hash of it. */
  readonly wants: bigint
  readonly count: number
  /** Clock.now of the last time. */
  readonly at: number
}

const FIRST_RETRY_MS = 5_000
const LAST_RETRY_MS = 300_000
/**
 * Do not wait longer than this for the watch to report a write: the server may have lost versions, or the watch may be
 * broken.
 */
const PATIENCE_MS = 15_000

/**
 * The same content is applied to a child this often; after that a condition reports it, and it is applied with growing
 * waits.
 */
const FREE_APPLIES = 5
/** A child that stayed as applied for this long is no longer contested. */
const UNCONTESTED_MS = 600_000
const FIRST_STALE_MS = 1_000
const LAST_STALE_MS = 60_000

const waitMs = (first: number, last: number, count: number): number =>
  Math.min(last, first * 2 ** Math.min(count - 1, 10))

const subjectOf = (
  operation: Operation,
): { readonly key: string; readonly wants: Child | string } => {
  if (operation.kind === 'apply') {
    const { child } = operation
    return { key: `apply ${child.kind} ${child.name}`, wants: child }
  }
  const { kind, live } = operation
  return { key: `${kind} ${live.kind} ${live.name}`, wants: live.uid }
}

const contested = ({ child, drift }: ApplyOperation): UnitFailure => {
  const { kind, name, unit } = child
  const what =
    drift === undefined
      ? 'is deleted again and again'
      : `does not stay as it is applied (${drift.path === '' ? drift.cause : drift.path}): somebody else writes it, or the apiserver or a webhook does not keep it`
  return {
    ...{ unit, reason: 'Contested' },
    message: `${kind} ${name} ${what}; it is tried again ever more rarely`,
  }
}

/** The greater of two versions, which are increasing numbers in practice. */
const later = (a: string | undefined, b: string): string =>
  a === undefined || b.length > a.length || (b.length === a.length && b > a) ? b : a

/** What the controller remembers of one grid. A restart may lose all of it. */
export class GridMemory {
  readonly #clock: Clock
  readonly uid: string
  readonly goneUnits: GoneUnits
  /** Keys of templates that passed a dry run, for one revision of the grid. */
  #checked: { readonly revision: string; readonly keys: Set<string> } | undefined
  /** The last status written; undefined when none was. */
  lastStatus:
    | {
        readonly status: Json
        readonly version: string
        /** Clock.now */
        readonly at: number
        /** How many status writes in quick succession before it changed only counts. */
        readonly inRow: number
      }
    | undefined
  /** What Events have reported already. */
  readonly said = new Map<string, string>()
  readonly #troubles = new Map<string, Trouble>()
  readonly #applied = new Map<string, Applied>()
  #stale = 0
  readonly #versions = new Map<ChildKind, string>()
  #writtenAt = -Infinity

  constructor(clock: Clock, uid: string) {
    this.#clock = clock
    this.uid = uid
    this.goneUnits = new GoneUnits(clock)
  }

  /** Keys of templates that passed a dry run. */
  checked(revision: string): Set<string> {
    if (this.#checked?.revision !== revision) this.#checked = { revision, keys: new Set() }
    return this.#checked.keys
  }

  wrote(kind: ChildKind, version: string): void {
    this.#versions.set(kind, later(this.#versions.get(kind), version))
    this.#writtenAt = this.#clock.now()
  }

  /** Drop what is no longer needed. */
  tidy(): void {
    const now = this.#clock.now()
    for (const [key, { at }] of this.#applied)
      if (now - at >= UNCONTESTED_MS) this.#applied.delete(key)
    for (const [key, { retryAt }] of this.#troubles)
      if (now - retryAt >= UNCONTESTED_MS) this.#troubles.delete(key)
  }

  /** Whether the watch has reported all our writes, or was waited for long enough. */
  isSettled(hasReached: (kind: ChildKind, version: string) => boolean): boolean {
    if (this.#clock.now() - this.#writtenAt > PATIENCE_MS) this.#versions.clear()
    for (const [kind, version] of this.#versions)
      if (hasReached(kind, version)) this.#versions.delete(kind)
    return this.#versions.size === 0
  }

  /** The last status written, until the watch has reported it or was waited for long enough. */
  unseenStatus(hasReached: (version: string) => boolean): Json | undefined {
    if (this.lastStatus === undefined) return undefined
    const { status, version, at } = this.lastStatus
    const isOld = this.#clock.now() - at > PATIENCE_MS
    return isOld || hasReached(version) ? undefined : status
  }

  refused(operation: Operation, failure: UnitFailure): void {
    const { key, wants } = subjectOf(operation)
    const known = this.#troubles.get(key)
    const count = (known?.wants === wants ? known.count : 0) + 1
    this.#remember(operation, failure, count)
  }

  /**
   * Note an apply and the version it resulted in. Content that is applied again and again is contested by others or not
   * stored; an apply that changed nothing will change nothing the next time.
   */
  applied(operation: ApplyOperation, version: string | undefined): void {
    const { child, target, takeover } = operation
    const key = `${child.kind} ${child.name}`
    const now = this.#clock.now()
    const wants = id64(JSON.stringify(child.object))
    const known = this.#applied.get(key)
    const last = known?.wants === wants ? known : undefined
    const before = last !== undefined && now - last.at < UNCONTESTED_MS ? last.count : 0
    const isInVain =
      target.kind === 'ours' && takeover === undefined && target.live.resourceVersion === version
    const count = Math.max(before + 1, isInVain ? FREE_APPLIES : 0)
    this.#applied.set(key, { wants, count, at: now })
    if (count < FREE_APPLIES) this.done(operation)
    else this.#remember(operation, contested(operation), count - FREE_APPLIES + 1)
  }

  done(operation: Operation): void {
    this.#troubles.delete(subjectOf(operation).key)
  }

  /** Why this operation must not be tried yet, and for how many milliseconds; undefined when it may. */
  troubleOf(
    operation: Operation,
  ): { readonly failure: UnitFailure; readonly leftMs: number } | undefined {
    const now = this.#clock.now()
    const trouble = this.#troubleOf(operation, now)
    return trouble && { failure: trouble.failure, leftMs: trouble.retryAt - now }
  }

  /** Time until the first of the failed ones may be tried again, in milliseconds. */
  retryMs(operations: readonly Operation[]): number | undefined {
    const now = this.#clock.now()
    const times = operations.flatMap(operation => {
      const trouble = this.#troubleOf(operation, now)
      return trouble === undefined ? [] : trouble.retryAt - now
    })
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** How long to wait after a pass in which so many objects had changed since the decision. */
  staleMs(count: number): number | undefined {
    this.#stale = count === 0 ? 0 : this.#stale + 1
    return count === 0 ? undefined : waitMs(FIRST_STALE_MS, LAST_STALE_MS, this.#stale)
  }

  #remember(operation: Operation, failure: UnitFailure, count: number): void {
    const { key, wants } = subjectOf(operation)
    const retryAt = this.#clock.now() + waitMs(FIRST_RETRY_MS, LAST_RETRY_MS, count)
    this.#troubles.set(key, { wants, failure, count, retryAt })
  }

  #troubleOf(operation: Operation, now: number): Trouble | undefined {
    const { key, wants } = subjectOf(operation)
    const known = this.#troubles.get(key)
    const isSame = known?.wants === wants
    return isSame && known.retryAt > now ? known : undefined
  }
}
