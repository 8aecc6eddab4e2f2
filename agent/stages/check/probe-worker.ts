// SPDX-License-Identifier: Apache-2.0
import type { CheckPlugin, ProbeResult, Target } from '../../../core/check.js'
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import { jitter, type Random } from '../../../core/random.js'
import type { CheckOptions } from '../../options/agent-options.js'
import type { RoundOutcome } from '../../results.js'
import type { Vote } from '../../../vote/evidence.js'
import { holdMs, NO_FLAPS, withFall, type Flaps } from './damping.js'
import { FIRST_LOSS, learnLoss, learnMeasured } from './ladder.js'
import type { LagLook, LoopLag } from '../../ports/loop-lag.js'
import { Round, type Link, type RoundEnd } from './round.js'

/** A round that says nothing about its target: the probes could not be made. */
export interface VoidRound {
  readonly target: NodeName
  readonly reason: string
  /** There is an earlier vote, and it is recent enough to stand; else we say neither up nor down. */
  readonly voteStands: boolean
}

/** What an answer from a target's address is worth, and why when it is no "up". */
export interface Credit {
  readonly vote: Vote
  readonly reason: string
}

/** How we see one target. Times are `Clock.now`; −Infinity when it never happened. */
export interface TargetState {
  /** It fell, and is not trusted again yet: it may answer already. */
  readonly isDown: boolean
  /** −1 while there is no vote: before the first round that said something, or since too many said nothing. */
  readonly failedRounds: number
  readonly lastRoundAt: number
  readonly score: number
  /** Why the last round failed, or could not be made; empty when all is well. */
  readonly reason: string
  /** Share of first attempts that were missed, as measured, of the plugin that misses most. */
  readonly loss: number
  /** How long the last round took that found it up; undefined before the first. */
  readonly roundTripMs: number | undefined
  /** It answers again, but has to go on until then to count as up. */
  readonly heldUntil: number
  /** Rounds that said something, and rounds that were void. */
  readonly rounds: number
  readonly voidRounds: number
}

/** What we say of it: neither up nor down while it answers again, but flapped. */
export const voteOf = ({ isDown, failedRounds }: TargetState): Vote => {
  if (failedRounds > 0) return 'down'
  return failedRounds < 0 || isDown ? 'not-looked' : 'up'
}

/** What a worker shares with the others. */
export interface WorkerContext {
  readonly options: CheckOptions
  readonly plugins: readonly CheckPlugin[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly loopLag: LoopLag | undefined
  /** Spacing and tail are this many times as long. */
  readonly factor: () => number
  readonly onRound: (outcome: RoundOutcome) => void
  readonly onVoid: (round: VoidRound) => void
  readonly callForVotes: (target: NodeName) => void
  readonly credit: (target: Target) => Credit
  /** The target went down just now. */
  readonly onFall: () => void
  /** Work that goes on for a moment after its round is over. */
  readonly onLeft: (work: Promise<void>) => void
}

const PERIOD_JITTER = 0.1
/**
 * Trouble of our own that lasts: after so many void rounds, and so many periods without a result, the vote before them
 * does not count any more. One stalled round is not enough.
 */
const VOID_ROUNDS = 3
const VOID_PERIODS = 2
/** Every so many rounds even the first attempt opens a connection of its own. */
const FRESH_EVERY = 6

/** One target: its timer, its rounds, its state. Workers know nothing of each other, so none can hold up another. */
export class ProbeWorker {
  readonly target: Target
  readonly #context: WorkerContext
  readonly #links: readonly Link[]
  #cancelTimer: () => void = () => undefined
  #round: Round | undefined
  /** How late we are, while a round runs. */
  #lag: LagLook | undefined
  /** The running round is the one that the timer asked for. */
  #isDue = false
  #stopped = false
  #begun = 0
  #flaps: Flaps = NO_FLAPS
  /** Before the last fall, and when that was. */
  #flapsBefore: Flaps = NO_FLAPS
  #fellAt = -Infinity
  /** Void rounds in a row, and when the last other one ended. */
  #voids = 0
  #saidAt = -Infinity
  readonly #lastResults = new Map<CheckPlugin, ProbeResult>()
  #state: TargetState = {
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

  constructor(target: Target, context: WorkerContext) {
    this.target = target
    this.#context = context
    this.#links = context.plugins.map(plugin => ({ plugin, loss: FIRST_LOSS, measuredLoss: 0 }))
  }

  get state(): TargetState {
    return this.#state
  }

  /** The last result of each plugin; a round may end before all of them have one. */
  get lastResults(): ReadonlyMap<CheckPlugin, ProbeResult> {
    return this.#lastResults
  }

  /** If the target is still down and fell since then, the fall was not its fault: damping forgets it. */
  forgiveFall(sinceAt: number): void {
    if (this.#state.isDown && this.#fellAt >= sinceAt) this.#flaps = this.#flapsBefore
  }

  /** Plan the first round. */
  start(delayMs: number): void {
    this.#arm(delayMs)
  }

  /** Start a round now, unless one runs. The regular rounds keep their times. */
  probeNow(): void {
    if (this.#stopped || this.#round !== undefined) return
    const { options, clock, loopLag } = this.#context
    const factor = this.#context.factor()
    const tailMs = options.attemptTailMs * factor
    const startedAt = clock.now()
    const lag = loopLag?.look()
    const isLate = (): boolean => (lag?.mostMs ?? 0) > tailMs / 2
    const round = new Round({
      target: this.target,
      links: this.#links,
      scoreLine: options.scoreLine,
      spacingMs: options.attemptSpacingMs * factor,
      tailMs,
      attemptsMin: options.attemptsMin,
      attemptsMax: options.attemptsMax,
      reuse: ++this.#begun % FRESH_EVERY !== 0,
      clock,
      onSuspicion: () => {
        if (!this.#state.isDown && !isLate()) this.#context.callForVotes(this.target.name)
      },
      onEnd: end => this.#take(round, end, { startedAt, isLate: isLate() }),
    })
    this.#round = round
    this.#lag = lag
    round.start()
  }

  /** Abort what runs, and count the rounds from here: `start` has to follow. The state stays until the next round. */
  reset(): void {
    this.#abort()
    this.#isDue = false
    this.#state = { ...this.#state, rounds: 0, voidRounds: 0 }
  }

  /** Abort what runs; nothing is called back after this. May be called twice. */
  stop(): void {
    this.#stopped = true
    this.#abort()
  }

  #abort(): void {
    this.#cancelTimer()
    if (this.#round === undefined) return
    this.#lag?.end()
    this.#round.stop()
    this.#context.onLeft(this.#round.settled())
    this.#round = undefined
  }

  #arm(ms: number): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#context.clock.after(ms, () => {
      this.#arm(this.#period(this.#context.options.checkPeriodMs))
      this.#isDue = true
      this.probeNow()
    })
  }

  #period(ms: number): number {
    return jitter(this.#context.random, ms, PERIOD_JITTER)
  }

  #take(round: Round, found: RoundEnd, when: { startedAt: number; isLate: boolean }): void {
    this.#round = undefined
    this.#lag?.end()
    this.#context.onLeft(round.settled())
    const before = this.#state
    const now = this.#context.clock.now()
    const end = found.verdict === 'up' ? this.#credited(found) : found
    // An answer is an answer, however late we were; only silence may be our own doing.
    const isOurs = when.isLate && end.verdict !== 'up'
    if (!when.isLate && end.verdict === 'up') this.#learn(end)
    for (const [plugin, result] of end.results) this.#lastResults.set(plugin, result)
    if (isOurs || end.verdict === 'void') {
      const mayStand = found.verdict !== 'up'
      this.#takeVoid({ reason: isOurs ? 'this process was held up' : end.reason, mayStand }, now)
      // The target may be dead: after a delay of our own it is asked again soon.
      this.#planNext(when.startedAt, before, isOurs)
      return
    }
    this.#voids = 0
    this.#saidAt = now
    const after = this.#judge(end, when.startedAt, now)
    this.#state = after
    this.#planNext(when.startedAt, before, false)
    this.#report(before, end, when.startedAt)
  }

  /** An answer that somebody else gave does not count for the target. */
  #credited(found: RoundEnd): RoundEnd {
    const { vote, reason } = this.#context.credit(this.target)
    if (vote === 'up') return found
    return { ...found, verdict: vote === 'down' ? 'down' : 'void', reason }
  }

  /** The round found nothing out. The vote before it stands for a while; then there is none. */
  #takeVoid({ reason, mayStand }: { reason: string; mayStand: boolean }, now: number): void {
    const { name } = this.target
    const before = this.#state
    const hadVote = before.failedRounds >= 0
    this.#voids++
    const isOld = now - this.#saidAt >= VOID_PERIODS * this.#context.options.checkPeriodMs
    const voteStands = hadVote && mayStand && !(isOld && this.#voids >= VOID_ROUNDS)
    const none = { isDown: false, failedRounds: -1, heldUntil: -Infinity }
    const kept = { ...before, ...(voteStands ? {} : none) }
    this.#state = { ...kept, lastRoundAt: now, reason, voidRounds: before.voidRounds + 1 }
    this.#context.log.debug('round is void', { peer: name, reason })
    if (hadVote && !voteStands)
      this.#context.log.warn('peer cannot be probed', { peer: name, reason })
    this.#context.onVoid({ target: name, reason, voteStands })
  }

  #learn(end: RoundEnd): void {
    for (const [link, missed] of end.learned) {
      link.loss = learnLoss(link.loss, missed)
      link.measuredLoss = learnMeasured(link.measuredLoss, missed)
    }
  }

  #judge(end: RoundEnd, startedAt: number, now: number): TargetState {
    const before = this.#state
    const common = {
      lastRoundAt: now,
      score: end.score,
      loss: Math.max(...this.#links.map(link => link.measuredLoss)),
      rounds: before.rounds + 1,
      voidRounds: before.voidRounds,
      roundTripMs: end.verdict === 'up' ? now - startedAt : before.roundTripMs,
    }
    if (end.verdict === 'down') {
      if (!before.isDown) {
        this.#flapsBefore = this.#flaps
        this.#fellAt = now
        this.#flaps = withFall(this.#flaps, now)
      }
      const failedRounds = Math.max(0, before.failedRounds) + 1
      return { ...common, isDown: true, failedRounds, reason: end.reason, heldUntil: -Infinity }
    }
    const up = { ...common, isDown: false, failedRounds: 0, reason: end.reason }
    if (!before.isDown) return { ...up, heldUntil: -Infinity }
    const { heldUntil: held } = before
    const heldUntil = held === -Infinity ? now + holdMs(this.#flaps, now) : held
    if (now >= heldUntil) return { ...up, heldUntil: -Infinity }
    return { ...up, isDown: true, heldUntil, reason: 'answers again, but flapped' }
  }

  /** Rounds outside the timer leave it alone, so that the peers' phases stay spread. */
  #planNext(startedAt: number, before: TargetState, isSoon: boolean): void {
    const { options, clock, random, factor } = this.#context
    const now = clock.now()
    const wasDue = this.#isDue
    this.#isDue = false
    if (this.#state.isDown || isSoon) {
      const next = startedAt + this.#period(options.downCheckPeriodMs)
      this.#arm(Math.max(next - now, options.attemptSpacingMs * factor()))
    } else if (before.rounds === 0 || before.isDown) {
      this.#arm(random.below(Math.ceil(options.checkPeriodMs)))
    } else if (wasDue) {
      this.#arm(Math.max(0, startedAt + this.#period(options.checkPeriodMs) - now))
    }
  }

  #report(before: TargetState, { attempts }: RoundEnd, startedAt: number): void {
    const { isDown, failedRounds, score, reason, lastRoundAt: endedAt } = this.#state
    const { name: target } = this.target
    const fell = isDown && !before.isDown
    if (fell) this.#context.log.info('peer is down', { peer: target, reason })
    else if (before.isDown && !isDown) this.#context.log.info('peer is up again', { peer: target })
    this.#context.onRound({
      target,
      vote: voteOf(this.#state),
      failedRounds,
      score,
      reason,
      startedAt,
      endedAt,
      attempts,
    })
    if (!fell || this.#stopped) return
    this.#context.callForVotes(target)
    this.#context.onFall()
  }
}
