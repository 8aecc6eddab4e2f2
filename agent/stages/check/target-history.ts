// SPDX-License-Identifier: Apache-2.0
import type { Vote } from '../../../vote/evidence.js'
import { holdMs, NO_FLAPS, withFall, type Flaps } from './damping.js'

/**
 * After this many void rounds in a row, and this many check periods without any other round, the vote before them no
 * longer counts. One round that this process was late for is not enough.
 */
const VOID_ROUNDS = 3
const VOID_PERIODS = 2

/** What our rounds found about one target. Times are `Clock.now`; −Infinity for never. */
export interface TargetState {
  /** Its last rounds failed, or it answers again and is still damped. */
  readonly isDown: boolean
  /** In a row. −1 while there is no vote: before the first round that was not void, or after too many void ones. */
  readonly failedRounds: number
  readonly lastRoundAt: number
  readonly score: number
  /** Why the last round failed or was void; empty when it succeeded. */
  readonly reason: string
  /** Measured share of first attempts that got no answer, of the plugin that loses most. */
  readonly loss: number
  /** Duration of the last round that found it up; undefined before the first. */
  readonly roundTripMs: number | undefined
  /** It answers again, and counts as up if it still does at this time. */
  readonly heldUntil: number
  /** Without the void ones. */
  readonly rounds: number
  readonly voidRounds: number
}

/** Our vote about the target: neither up nor down while it answers again but is damped. */
export const voteOf = ({ isDown, failedRounds }: TargetState): Vote => {
  if (failedRounds > 0) return 'down'
  return failedRounds < 0 || isDown ? 'not-looked' : 'up'
}

const UNKNOWN: TargetState = {
  isDown: false,
  failedRounds: -1,
  lastRoundAt: -Infinity,
  score: 0,
  reason: '',
  loss: 0,
  roundTripMs: undefined,
  heldUntil: -Infinity,
  rounds: 0,
  voidRounds: 0,
}

/** A round that found the target up or down. */
interface FoundRound {
  readonly verdict: 'up' | 'down'
  readonly score: number
  readonly reason: string
  readonly loss: number
  readonly startedAt: number
  readonly now: number
}

/** What one target's rounds add up to: its state, its falls, and for how long an earlier vote stands. No timers, no probes. */
export class TargetHistory {
  readonly #checkPeriodMs: number
  #state = UNKNOWN
  #flaps: Flaps = NO_FLAPS
  /** The flaps before the last fall, and when that fall was. */
  #flapsBefore: Flaps = NO_FLAPS
  #fellAt = -Infinity
  /** Void rounds in a row, and when the last other one ended. */
  #voids = 0
  #foundAt = -Infinity

  constructor(checkPeriodMs: number) {
    this.#checkPeriodMs = checkPeriodMs
  }

  get state(): TargetState {
    return this.#state
  }

  /** If the target is still down and fell since then, the fall was not its fault: damping forgets it. */
  forgiveFall(sinceAt: number): void {
    if (this.#state.isDown && this.#fellAt >= sinceAt) this.#flaps = this.#flapsBefore
  }

  /** Count rounds from zero; all else stays. */
  resetCounts(): void {
    this.#state = { ...this.#state, rounds: 0, voidRounds: 0 }
  }

  /** A round that found the target up or down has ended. */
  found(round: FoundRound): void {
    this.#voids = 0
    this.#foundAt = round.now
    this.#state = this.#after(round)
  }

  /**
   * A void round has ended: the vote before it stands for a while.
   * @param mayStand false: something answered in its place, so an earlier vote does not stand
   * @returns whether there was a vote before, and whether it stands
   */
  voided(
    reason: string,
    { mayStand, now }: { readonly mayStand: boolean; readonly now: number },
  ): { readonly hadVote: boolean; readonly voteStands: boolean } {
    const before = this.#state
    const hadVote = before.failedRounds >= 0
    this.#voids++
    const isOld = now - this.#foundAt >= VOID_PERIODS * this.#checkPeriodMs
    const voteStands = hadVote && mayStand && !(isOld && this.#voids >= VOID_ROUNDS)
    const none = { isDown: false, failedRounds: -1, heldUntil: -Infinity }
    const kept = { ...before, ...(voteStands ? {} : none) }
    this.#state = { ...kept, lastRoundAt: now, reason, voidRounds: before.voidRounds + 1 }
    return { hadVote, voteStands }
  }

  #after({ verdict, score, reason, loss, startedAt, now }: FoundRound): TargetState {
    const before = this.#state
    const common = {
      lastRoundAt: now,
      score,
      loss,
      rounds: before.rounds + 1,
      voidRounds: before.voidRounds,
      roundTripMs: verdict === 'up' ? now - startedAt : before.roundTripMs,
    }
    if (verdict === 'down') {
      if (!before.isDown) this.#noteFall(now)
      const failedRounds = Math.max(0, before.failedRounds) + 1
      return { ...common, isDown: true, failedRounds, reason, heldUntil: -Infinity }
    }
    const up = { ...common, isDown: false, failedRounds: 0, reason }
    if (!before.isDown) return { ...up, heldUntil: -Infinity }
    const { heldUntil: held } = before
    const heldUntil = held === -Infinity ? now + holdMs(this.#flaps, now) : held
    if (now >= heldUntil) return { ...up, heldUntil: -Infinity }
    return { ...up, isDown: true, heldUntil, reason: 'answers again, but flapped' }
  }

  #noteFall(now: number): void {
    this.#flapsBefore = this.#flaps
    this.#fellAt = now
    this.#flaps = withFall(this.#flaps, now)
  }
}
