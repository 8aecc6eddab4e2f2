// SPDX-License-Identifier: Apache-2.0
import { id64 } from '../../core/ids.js'

/** How many of a grid's units may go at once without a confirmation. */
const MAX_GONE_SHARE = 0.4

/** What the guard is asked. Times are epoch milliseconds. */
export interface GuardQuestion {
  /** Units that nodes form now. */
  readonly present: readonly string[]
  /** Units that no node forms but that have children: since when, as far as that was written down. */
  readonly gone: ReadonlyMap<string, number | undefined>
  /** Units whose children went a moment ago, and that are neither present nor gone: step by step is at once, too. */
  readonly removed?: ReadonlySet<string> | undefined
  /** What the grid's annotation confirms; a hold's token. */
  readonly confirmed: string | undefined
  /** The units that it named when it was first understood: some of these may have gone since. */
  readonly agreed?: Removal | undefined
  readonly now: number
  /** How long a unit must be gone before its children go. */
  readonly graceMs: number
}

/** Since when units are gone, epoch ms. */
type Removal = ReadonlyMap<string, number>

/** Nothing is deleted until somebody confirms it, or units come back. */
export interface Hold {
  readonly reason: 'AllUnitsGone' | 'TooManyUnitsGone'
  /** Sorted. */
  readonly units: readonly string[]
  /** Of how many. */
  readonly total: number
  /** Names exactly these units, gone at this time: a confirmation of them confirms no others, and none of another time. */
  readonly token: string
}

export interface GuardAnswer {
  /** Units whose children are to be deleted now, sorted. */
  readonly remove: readonly string[]
  /** The other units that are gone: since when, to be written down where it was not. */
  readonly waiting: ReadonlyMap<string, number>
  readonly hold: Hold | undefined
  /** The units that the grid's confirmation names; undefined when it confirms nothing of what is gone. */
  readonly agreed: Removal | undefined
  /** When to ask again; undefined where only a change can change the answer. */
  readonly nextAt: number | undefined
}

/** The token that confirms that exactly these units, gone since then, may go. */
export const holdToken = (gone: Removal): string =>
  (id64([...gone].sort().join('\0')) >> 32n).toString(16).padStart(8, '0')

const agreedOf = ({ confirmed, agreed }: GuardQuestion, gone: Removal): Removal | undefined => {
  if (confirmed === undefined || gone.size === 0) return undefined
  if (confirmed === holdToken(gone)) return gone
  const isCovered = [...gone].every(([unit, at]) => agreed?.get(unit) === at)
  return isCovered && agreed !== undefined && confirmed === holdToken(agreed) ? agreed : undefined
}

/**
 * How many units there are, and whether those that are gone are too many to have been meant.
 * @param units Those that have children; some may be present.
 * @param present Those that nodes form now.
 * @param removed Those whose children went a moment ago.
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
 * Which units' children may go? A unit that is gone is waited for, since a Node that registers anew, or a label that is
 * taken off and put back, looks the same. When all units or more than 40 % of them are gone it is more likely that somebody
 * erred, and nothing goes without a confirmation; then they go together. A time that was written down and lies ahead counts as now:
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
