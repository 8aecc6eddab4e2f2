// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Judgement } from '../../../vote/judgement.js'
import type { VoteOptions } from '../../../vote/options.js'
import { VERDICT } from '../../../vote/quorum.js'
import { firstWriter } from '../../../vote/writer.js'
import { keepOnly } from '../../keep-only.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { TokenBucket } from './rate-limit.js'

/** After this time every record may be renewed. */
const ASK_AGAIN_MS = 260
/** Every agent asks this often; in a large zone that brings it only a part of the others' records. */
const ASKS_OF_ALL = 2
/** The writer asks on until a majority has spoken, but at most this often. */
const ASKS_OF_WRITER = 10
/** For all condemnations together, so that votes that come and go do not keep a zone asking. */
const LIMIT = { perSecond: 1, burst: 2 * ASKS_OF_WRITER }
/** How many condemnations of one member peers are asked about. Beyond that, the votes come with the usual exchanges. */
const PER_MEMBER = { perSecond: 1 / 30, burst: 3 }

interface MajorityCallSeams {
  readonly clock: Clock
  readonly store: ResultStore
  /** Renew our own record, and ask several peers at once. */
  readonly askAround: () => void
  /** The same with more peers, from all over the zone. */
  readonly askWidely: () => void
}

/** The latest condemnation of a member. */
interface LatestCondemnation {
  readonly limit: TokenBucket
  /** `Clock.now` when it began. */
  readonly at: number
  readonly isAskedAbout: boolean
}

/** The condemnations that began at this very instant. */
const begun = ({ pending, pendingAt }: Judgement, now: number): readonly number[] => {
  const found: number[] = []
  const { unhealthy } = VERDICT
  // Runs at each vote, and nearly always finds none.
  for (let at = pending.indexOf(unhealthy); at >= 0; at = pending.indexOf(unhealthy, at + 1))
    if (pendingAt[at] === now) found.push(at)
  return found
}

/** The condemnations that still wait for their majority. */
const unbacked = ({ pending, backedAt }: Judgement): readonly number[] =>
  [...pending.keys()].filter(
    index => pending[index] === VERDICT.unhealthy && backedAt[index] === Infinity,
  )

/**
 * A condemnation needs a majority that has spoken since it began. Agents that began it at the same time speak within a
 * batch. The others' records may be too young to be renewed, so these agents are asked again. In a large zone that is not
 * enough to hear a majority: its records come with the next exchanges. The writer, for which the zone waits, asks on.
 */
export class MajorityCall {
  readonly #options: VoteOptions & { readonly pushBatchMs: number }
  readonly #seams: MajorityCallSeams
  readonly #limit = new TokenBucket(LIMIT)
  /** By the member's name. */
  readonly #latest = new Map<string, LatestCondemnation>()
  /** `Clock.now` when we ask next. */
  #dueAt = Infinity
  #cancel: () => void = () => undefined

  constructor(options: VoteOptions & { readonly pushBatchMs: number }, seams: MajorityCallSeams) {
    this.#options = options
    this.#seams = seams
  }

  /** Called after each vote. */
  review({ judgement, roster }: Pick<ZoneState, 'judgement' | 'roster'>): void {
    const now = this.#seams.clock.now()
    for (const index of begun(judgement, now))
      if (this.#mayAskAbout(roster, index, now)) this.#plan(this.#options.pushBatchMs)
  }

  /** A condemnation of this member began at `now`. */
  #mayAskAbout(roster: ZoneState['roster'], index: number, now: number): boolean {
    const { name } = roster.members[index]!
    const known = this.#latest.get(name)
    if (known?.at === now) return known.isAskedAbout
    if (known === undefined) keepOnly(this.#latest, kept => roster.indexOf(kept) !== undefined)
    const limit = known?.limit ?? new TokenBucket(PER_MEMBER)
    const isAskedAbout = limit.take(now)
    this.#latest.set(name, { limit, at: now, isAskedAbout })
    return isAskedAbout
  }

  stop(): void {
    this.#cancel()
    this.#dueAt = Infinity
  }

  /** Ask after this time, unless that is planned for earlier. */
  #plan(ms: number): void {
    const { clock } = this.#seams
    const dueAt = clock.now() + ms
    if (dueAt >= this.#dueAt) return
    this.#cancel()
    this.#dueAt = dueAt
    this.#cancel = clock.after(ms, () => {
      this.#dueAt = Infinity
      this.#ask()
    })
  }

  #ask(): void {
    const { clock, store, askAround, askWidely } = this.#seams
    const state = store.zone.current
    if (state === undefined) return
    const { pendingAt } = state.judgement
    const now = clock.now()
    /** How often asking about this member was due. */
    const asks = (index: number): number =>
      1 + Math.round((now - pendingAt[index]! - this.#options.pushBatchMs) / ASK_AGAIN_MS)
    const { members } = state.roster
    const waiting = unbacked(state.judgement).filter(
      index =>
        asks(index) <= ASKS_OF_WRITER &&
        this.#latest.get(members[index]!.name)?.isAskedAbout === true,
    )
    const old = waiting.filter(index => asks(index) > ASKS_OF_ALL)
    const isWriter = old.length > 0 && this.#isWriter(state, old)
    if (!isWriter && old.length === waiting.length) return
    this.#plan(ASK_AGAIN_MS)
    if (!this.#limit.take(now)) return
    if (isWriter) askWidely()
    else askAround()
  }

  /** Whether it is our turn to write about one of these members. */
  #isWriter({ judgement, table, roster, ranking }: ZoneState, members: readonly number[]): boolean {
    const now = this.#seams.clock.now()
    const isOurTurn = firstWriter(judgement, table, { now, options: this.#options, ranking })
    return members.some(index => isOurTurn({ index, id: roster.members[index]!.id }))
  }
}
