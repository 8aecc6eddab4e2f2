// SPDX-License-Identifier: Apache-2.0
import type { CheckPlugin, ProbeResult, Target } from '../../../core/check.js'
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import { jitter, type Random } from '../../../core/random.js'
import type { CheckOptions } from '../../options/agent-options.js'
import type { RoundOutcome } from '../../results.js'
import type { Vote } from '../../../vote/evidence.js'
import { FIRST_LOSS, learnLoss, learnMeasured } from './ladder.js'
import type { LagLook, LoopLag } from '../../ports/loop-lag.js'
import { Round, type Link, type RoundEnd } from './round.js'
import { TargetHistory, voteOf, type TargetState } from './target-history.js'

/** A round that says nothing about its target: the probes could not be made. */
export interface VoidRound {
  readonly target: NodeName
  readonly reason: string
  /** The vote from before this round still counts; otherwise we vote neither up nor down. */
  readonly voteStands: boolean
}

/** What an answer from a target's address is worth, and why when it is no "up". */
export interface Credit {
  readonly vote: Vote
  readonly reason: string
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
  /** Called with work that goes on for a moment after its round has ended. */
  readonly onLeft: (work: Promise<void>) => void
}

const PERIOD_JITTER = 0.1
/** In one of this many rounds the first attempt opens a new connection too; in the others it may reuse one. */
const FRESH_EVERY = 6

/** Probes one target: its timer and its rounds. Workers know nothing of each other, so none can delay another. */
export class ProbeWorker {
  readonly target: Target
  readonly #context: WorkerContext
  readonly #links: readonly Link[]
  readonly #history: TargetHistory
  #cancelTimer: () => void = () => undefined
  #round: Round | undefined
  /** How late this process's timers are, while a round runs. */
  #lag: LagLook | undefined
  /** The running round was started by the timer. */
  #isDue = false
  #stopped = false
  #begun = 0
  readonly #lastResults = new Map<CheckPlugin, ProbeResult>()

  constructor(target: Target, context: WorkerContext) {
    this.target = target
    this.#context = context
    this.#history = new TargetHistory(context.options.checkPeriodMs)
    this.#links = context.plugins.map(plugin => ({ plugin, loss: FIRST_LOSS, measuredLoss: 0 }))
  }

  get state(): TargetState {
    return this.#history.state
  }

  /** The last result of each plugin; a round may end before all of them have one. */
  get lastResults(): ReadonlyMap<CheckPlugin, ProbeResult> {
    return this.#lastResults
  }

  /** If the target is still down and fell since then, the fall was not its fault: damping forgets it. */
  forgiveFall(sinceAt: number): void {
    this.#history.forgiveFall(sinceAt)
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
        if (!this.state.isDown && !isLate()) this.#context.callForVotes(this.target.name)
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
    this.#history.resetCounts()
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
    const before = this.state
    const now = this.#context.clock.now()
    const end = found.verdict === 'up' ? this.#credited(found) : found
    // An answer counts however late this process was; silence may be our own fault.
    const isOurs = when.isLate && end.verdict !== 'up'
    if (!when.isLate && end.verdict === 'up') this.#learn(end)
    for (const [plugin, result] of end.results) this.#lastResults.set(plugin, result)
    if (isOurs || end.verdict === 'void') {
      const mayStand = found.verdict !== 'up'
      this.#takeVoid({ reason: isOurs ? 'this process was held up' : end.reason, mayStand }, now)
      // The target may be dead, so after a delay on our side probe it again soon.
      this.#planNext(when.startedAt, before, isOurs)
      return
    }
    const { verdict, score, reason } = end
    const loss = Math.max(...this.#links.map(link => link.measuredLoss))
    this.#history.found({ verdict, score, reason, loss, startedAt: when.startedAt, now })
    this.#planNext(when.startedAt, before, false)
    this.#report(before, end, when.startedAt)
  }

  /** An answer that another node gave at the target's address does not count for the target. */
  #credited(found: RoundEnd): RoundEnd {
    const { vote, reason } = this.#context.credit(this.target)
    if (vote === 'up') return found
    return { ...found, verdict: vote === 'down' ? 'down' : 'void', reason }
  }

  /** The round says nothing about the target: the vote before it stands for a while, then there is none. */
  #takeVoid({ reason, mayStand }: { reason: string; mayStand: boolean }, now: number): void {
    const { name } = this.target
    const { hadVote, voteStands } = this.#history.voided(reason, { mayStand, now })
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

  /** A round outside the schedule does not move the schedule, so that probes of many peers stay spread over the period. */
  #planNext(startedAt: number, before: TargetState, isSoon: boolean): void {
    const { options, clock, random, factor } = this.#context
    const now = clock.now()
    const wasDue = this.#isDue
    this.#isDue = false
    if (this.state.isDown || isSoon) {
      const next = startedAt + this.#period(options.downCheckPeriodMs)
      this.#arm(Math.max(next - now, options.attemptSpacingMs * factor()))
    } else if (before.rounds === 0 || before.isDown) {
      this.#arm(random.below(Math.ceil(options.checkPeriodMs)))
    } else if (wasDue) {
      this.#arm(Math.max(0, startedAt + this.#period(options.checkPeriodMs) - now))
    }
  }

  #report(before: TargetState, { attempts }: RoundEnd, startedAt: number): void {
    const { isDown, failedRounds, score, reason, lastRoundAt: endedAt } = this.state
    const { name: target } = this.target
    const fell = isDown && !before.isDown
    if (fell) this.#context.log.info('peer is down', { peer: target, reason })
    else if (before.isDown && !isDown) this.#context.log.info('peer is up again', { peer: target })
    this.#context.onRound({
      target,
      vote: voteOf(this.state),
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
