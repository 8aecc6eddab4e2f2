// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import type { Random } from '../core/random.js'
import {
  cutNote,
  eventBody,
  type EventBody,
  type EventFacts,
  type ObjectReference,
} from '../kube/client/event-body.js'

interface EventSeriesSeams {
  readonly clock: Clock
  readonly random: Random
}

/** Who reports. */
type Reporter = Pick<EventFacts, 'reportingController' | 'reportingInstance'>

/** The text of an Event, without its object. */
export type EventText = Pick<EventFacts, 'type' | 'reason' | 'action' | 'note'>

/** So many different Events about one object are sent at once, further ones at this interval. */
const AT_ONCE = 10
const ONE_EACH_MS = 60_000
/** The same Event after this time is a new one; the apiserver deletes Events after an hour. */
const SERIES_MS = 1_800_000
/** Limit of remembered series and objects; beyond it the oldest are dropped. */
const MAX_KNOWN = 2_000

/** An Event and how often it occurred. */
export interface Series {
  readonly body: EventBody
  readonly startedAt: number
  count: number
  /** Epoch ms. */
  lastWall: number
  /** The count that the server has; 0 when it has no such Event. */
  sentCount: number
  /** Clock.now before which it is not sent. */
  dueAt: number
}

/** A token bucket: how many more Events about an object are sent. */
interface Allowance {
  tokens: number
  at: number
  leftOut: number
}

/** Drops the oldest keys: maps keep the order of insertion. */
const shrink = (map: Map<string, unknown>): void => {
  for (const key of map.keys()) {
    if (map.size <= MAX_KNOWN) return
    map.delete(key)
  }
}

/** Turns occurrences into Events: the same about one object is one with a count, and one object has only so many. */
export class EventSeries {
  readonly #seams: EventSeriesSeams
  readonly #reporter: Reporter
  readonly #series = new Map<string, Series>()
  readonly #allowances = new Map<string, Allowance>()

  constructor(seams: EventSeriesSeams, reporter: Reporter) {
    this.#seams = seams
    this.#reporter = reporter
  }

  /** Count one occurrence. @returns its series; undefined when there are too many Events about the object */
  count(regarding: ObjectReference, words: EventText): Series | undefined {
    const { clock } = this.#seams
    const note = cutNote(words.note)
    const key = JSON.stringify([regarding.uid, words.type, words.reason, words.action, note])
    const known = this.#series.get(key)
    if (known === undefined || clock.now() - known.startedAt >= SERIES_MS)
      return this.#begin(key, regarding, { ...words, note })
    known.count++
    known.lastWall = clock.wall()
    return known
  }

  #begin(key: string, regarding: ObjectReference, words: EventText): Series | undefined {
    const { clock, random } = this.#seams
    const allowance = this.#allowanceOf(regarding.uid)
    if (allowance.tokens < 1) {
      allowance.leftOut++
      return undefined
    }
    allowance.tokens--
    const more = allowance.leftOut === 0 ? '' : ` (${allowance.leftOut} other Events left out)`
    allowance.leftOut = 0
    const facts = { regarding, ...words, note: `${words.note}${more}` }
    const wall = clock.wall()
    const series = {
      body: eventBody({ ...facts, ...this.#reporter }, wall, random.bits64()),
      startedAt: clock.now(),
      count: 1,
      lastWall: wall,
      sentCount: 0,
      dueAt: 0,
    }
    this.#series.delete(key)
    this.#series.set(key, series)
    shrink(this.#series)
    return series
  }

  #allowanceOf(uid: string): Allowance {
    const now = this.#seams.clock.now()
    const last = this.#allowances.get(uid) ?? { tokens: AT_ONCE, at: now, leftOut: 0 }
    const tokens = Math.min(AT_ONCE, last.tokens + (now - last.at) / ONE_EACH_MS)
    const next = { tokens, at: now, leftOut: last.leftOut }
    this.#allowances.delete(uid)
    this.#allowances.set(uid, next)
    shrink(this.#allowances)
    return next
  }
}
