// SPDX-License-Identifier: Apache-2.0
import { id64 } from '../../core/ids.js'

/** How many of a grid's units may go at once without anybody's word. */
const MAX_GONE_SHARE = 0.4

/** What the guard is asked. Times are epoch milliseconds. */
export interface GuardQuestion {
  /** Units that nodes form now. */
  readonly present: readonly string[]
  /** Units that no node forms but that have children: since when, as far as that was written down. */
  readonly gone: ReadonlyMap<string, number | undefined>
  /** What the grid's annotation confirms; a hold's token. */
  readonly confirmed: string | undefined
  readonly now: number
  /** How long a unit must be gone before its children go. */
  readonly graceMs: number
}

/** Nothing is deleted until somebody confirms it, or units come back. */
export interface Hold {
  readonly reason: 'AllUnitsGone' | 'TooManyUnitsGone'
  /** Sorted. */
  readonly units: readonly string[]
  /** Of how many. */
  readonly total: number
  /** Names exactly these units: a word about them says nothing about others. */
  readonly token: string
}

export interface GuardAnswer {
  /** Units whose children are to be deleted now, sorted. */
  readonly remove: readonly string[]
  /** The other units that are gone: since when, to be written down where it was not. */
  readonly waiting: ReadonlyMap<string, number>
  readonly hold: Hold | undefined
  /** When to ask again; undefined where only a change can change the answer. */
  readonly nextAt: number | undefined
}

/** The word that confirms that exactly these units may go. */
export const holdToken = (units: readonly string[]): string =>
  (id64([...units].sort().join('\0')) >> 32n).toString(16).padStart(8, '0')

const holdOf = ({ present, gone, confirmed }: GuardQuestion): Hold | undefined => {
  const units = [...gone.keys()].sort()
  const total = new Set([...present, ...units]).size
  if (units.length === 0 || units.length <= total * MAX_GONE_SHARE) return undefined
  const token = holdToken(units)
  if (confirmed === token) return undefined
  return { reason: present.length === 0 ? 'AllUnitsGone' : 'TooManyUnitsGone', units, total, token }
}

/**
 * Which units' children may go? A unit that is gone is waited for, since a Node that registers anew, or a label that is
 * taken off and put back, looks the same. When all units or more than 40 % of them are gone it is more likely that somebody
 * erred, and nothing goes without a word. A time that was written down and lies ahead counts as now: clocks differ.
 */
export const guardUnits = (question: GuardQuestion): GuardAnswer => {
  const { gone, now, graceMs } = question
  const hold = holdOf(question)
  const since = new Map([...gone].map(([unit, at = now]) => [unit, Math.min(at, now)]))
  const isDue = (unit: string): boolean => hold === undefined && since.get(unit)! + graceMs <= now
  const remove = [...since.keys()].filter(isDue).sort()
  const waiting = new Map([...since].filter(([unit]) => !isDue(unit)))
  const nextAt = Math.min(...[...waiting.values()].map(at => at + graceMs))
  return {
    remove,
    waiting,
    hold,
    nextAt: hold === undefined && waiting.size > 0 ? nextAt : undefined,
  }
}
