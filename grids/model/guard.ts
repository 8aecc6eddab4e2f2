// SPDX-License-Identifier: Apache-2.0
import { id64 } from '../../core/ids.js'

/** Largest share of a grid's units that may be removed at once without a confirmation. */
const MAX_GONE_SHARE = 0.4

/** What the guard decides about. Times are epoch milliseconds. */
export interface GuardQuestion {
  /** Units that have nodes now. */
  readonly present: readonly string[]
  /** Units without nodes that still have children, with the noted time since when. */
  readonly gone: ReadonlyMap<string, number | undefined>
  /** Units whose children were deleted lately and that have no nodes: several small removals count as one. */
  readonly removed?: ReadonlySet<string> | undefined
  /** The grid's annotation with the token of a hold. */
  readonly confirmed: string | undefined
  /** The units that the token named when it was first read; some of them may have been removed since. */
  readonly agreed?: Removal | undefined
  readonly now: number
  /** How long a unit must be gone before its children are deleted. */
  readonly graceMs: number
}

/** Units that are gone, and since when, epoch ms. */
type Removal = ReadonlyMap<string, number>

/** No children are deleted until somebody confirms it or units come back. */
export interface Hold {
  readonly reason: 'AllUnitsGone' | 'TooManyUnitsGone'
  /** Sorted. */
  readonly units: readonly string[]
  /** How many units there are in all. */
  readonly total: number
  /** Confirms exactly these units, gone at exactly these times. */
  readonly token: string
}

export interface GuardAnswer {
  /** Units whose children are to be deleted now, sorted. */
  readonly remove: readonly string[]
  /** The other units that are gone, and since when; to be noted where it was not. */
  readonly waiting: ReadonlyMap<string, number>
  readonly hold: Hold | undefined
  /** The units that the grid's confirmation names; undefined when it names none that are gone. */
  readonly agreed: Removal | undefined
  /** When to decide again; undefined when only a change can alter the answer. */
  readonly nextAt: number | undefined
}

/** The token that confirms the removal of exactly these units, gone since then. */
export const holdToken = (gone: Removal): string =>
  (id64([...gone].sort().join('\0')) >> 32n).toString(16).padStart(8, '0')

const agreedOf = ({ confirmed, agreed }: GuardQuestion, gone: Removal): Removal | undefined => {
  if (confirmed === undefined || gone.size === 0) return undefined
  if (confirmed === holdToken(gone)) return gone
  const isCovered = [...gone].every(([unit, at]) => agreed?.get(unit) === at)
  return isCovered && agreed !== undefined && confirmed === holdToken(agreed) ? agreed : undefined
}

/**
 * How many units there are, and whether so many are gone that it is probably a mistake.
 * @param units those that have children; some may be present
 * @param present those that have nodes now
 * @param removed those whose children were deleted lately
 */
export const goneAtOnce = (
  units: Iterable<string>,
  present: ReadonlySet<string>,
  removed: ReadonlySet<string>,
): { readonly total: number; readonly areTooMany: boolean } => {
  const left = new Set([...units, ...removed].filter(unit => !present.has(unit)))
  const total = left.size + present.size
  return { total, areTooMany: left.size > total * MAX_GONE_SHARE }
}

const holdOf = (
  { present, removed = new Set() }: GuardQuestion,
  gone: Removal,
): Hold | undefined => {
  const units = [...gone.keys()].sort()
  const { total, areTooMany } = goneAtOnce(units, new Set(present), removed)
  if (units.length === 0 || !areTooMany) return undefined
  const reason = present.length === 0 ? 'AllUnitsGone' : 'TooManyUnitsGone'
  return { reason, units, total, token: holdToken(gone) }
}

/**
 * Which units' children may be deleted. There is a grace period, since a Node that registers again or a label that is
 * replaced looks like a removed unit. When all units or more than 40 % of them are gone, a mistake is more likely, and
 * nothing is deleted without a confirmation; then all are deleted together. A noted time in the future counts as now, since
 * clocks differ.
 */
export const guardUnits = (question: GuardQuestion): GuardAnswer => {
  const { now, graceMs } = question
  const marks = new Map([...question.gone].map(([unit, at = now]) => [unit, at]))
  const agreed = agreedOf(question, marks)
  const hold = agreed === undefined ? holdOf(question, marks) : undefined
  const since = new Map([...marks].map(([unit, at]) => [unit, Math.min(at, now)]))
  const last = Math.max(...since.values())
  const dueAt = (unit: string): number => (agreed === undefined ? since.get(unit)! : last) + graceMs
  const isDue = (unit: string): boolean => hold === undefined && dueAt(unit) <= now
  const remove = [...since.keys()].filter(isDue).sort()
  const waiting = new Map([...since].filter(([unit]) => !isDue(unit)))
  const nextAt = Math.min(...[...waiting.keys()].map(dueAt))
  return {
    remove,
    waiting,
    hold,
    agreed,
    nextAt: hold === undefined && waiting.size > 0 ? nextAt : undefined,
  }
}
