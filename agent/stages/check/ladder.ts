// SPDX-License-Identifier: Apache-2.0
import type { CheckPlugin, ProbeResult, Target } from '../../../core/check.js'
import type { Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'

/** A round may be wrong this often by loss alone. */
const WRONG_ROUNDS = 1e-3
const LOSS_FLOOR = 0.05
const LOSS_CEILING = 0.6
const LOSS_WEIGHT = 0.2

/** The loss assumed for a link before anything is known about it. */
export const FIRST_LOSS = LOSS_FLOOR

/**
 * The loss to be ready for on a link after one more round that succeeded: a moving average of "the first attempt was
 * missed", never below a floor.
 */
export const learnLoss = (loss: number, firstMissed: boolean): number =>
  Math.min(
    LOSS_CEILING,
    Math.max(LOSS_FLOOR, (1 - LOSS_WEIGHT) * loss + (firstMissed ? LOSS_WEIGHT : 0)),
  )

/** The same without a floor: what was measured, for people to see. */
export const learnMeasured = (loss: number, firstMissed: boolean): number =>
  (1 - LOSS_WEIGHT) * loss + (firstMissed ? LOSS_WEIGHT : 0)

/** How many attempts it takes so that all are lost only once in a thousand rounds, within the operator's bounds. */
export const attemptsFor = (loss: number, min: number, max: number): number =>
  Math.min(max, Math.max(min, Math.ceil(Math.log(WRONG_ROUNDS) / Math.log(loss))))

/** How one ladder is climbed; lengths of time in milliseconds. */
export interface ClimbOptions {
  readonly plugin: CheckPlugin
  readonly target: Target
  readonly attempts: number
  /** Attempts start this far apart. */
  readonly spacingMs: number
  /** What the last attempt gets; all end together. */
  readonly tailMs: number
  /** The first attempt may use a kept connection; the others never do. */
  readonly reuse: boolean
  readonly clock: Clock
  /** Called with how many attempts have no answer so far: they failed, or the next one had to be started. */
  readonly onMissed: (missed: number) => void
  /** Called once, unless stopped before. */
  readonly onEnd: (end: ClimbEnd) => void
}

/** Made once: each new error would record a stack trace. */
const ROUND_OVER = new Error('the round is over')

/** What one ladder found. */
export interface ClimbEnd {
  readonly result: ProbeResult
  /** Whether another attempt had to answer for the first; undefined when the ladder does not know. */
  readonly firstMissed: boolean | undefined
}

/**
 * One plugin's attempts against one target in one round: they start `spacingMs` apart, run beside each other, and the
 * first success wins. A failure, even a quick one like a refused connection, does not end the ladder: the peer gets
 * the whole time to come back, so that a restart of a second or two does not count as a death.
 */
export class Ladder {
  readonly #options: ClimbOptions
  readonly #pending = new Map<number, AbortController>()
  readonly #settled: Promise<unknown>[] = []
  #cancelTimer: () => void = () => undefined
  #started = 0
  #failed = 0
  #unknown = 0
  #firstUnknown = false
  #reason: string | undefined
  #unknownResult: ProbeResult | undefined
  #last: ProbeResult | undefined
  #ended = false

  constructor(options: ClimbOptions) {
    this.#options = options
  }

  /** Attempts started so far. */
  get attempts(): number {
    return this.#started
  }

  /** Result of the attempt that ended last; undefined before the first. */
  get last(): ProbeResult | undefined {
    return this.#last
  }

  /** Start the first attempt. Nothing is called back before this returns. */
  start(): void {
    this.#step()
  }

  /** Abort all attempts; nothing is called back after this. May be called twice. */
  stop(): void {
    this.#ended = true
    this.#cancelTimer()
    for (const controller of this.#pending.values()) controller.abort(ROUND_OVER)
    this.#pending.clear()
  }

  /** Resolves when no attempt is at work any more; call it after the end. */
  async settled(): Promise<void> {
    await Promise.all(this.#settled)
  }

  #step(): void {
    const { clock, attempts, spacingMs, tailMs, onMissed } = this.#options
    this.#attempt()
    if (this.#started < attempts) this.#cancelTimer = clock.after(spacingMs, () => this.#step())
    else this.#cancelTimer = clock.after(tailMs, () => this.#giveUp())
    if (this.#started > 1) onMissed(this.#missed())
  }

  #missed(): number {
    let missed = this.#failed
    for (const index of this.#pending.keys()) if (index < this.#started - 1) missed++
    return missed
  }

  #attempt(): void {
    const index = this.#started++
    const controller = new AbortController()
    this.#pending.set(index, controller)
    const { plugin, target, reuse } = this.#options
    const attempt = { signal: controller.signal, reuse: reuse && index === 0 }
    this.#settled.push(
      ask(plugin, target, attempt).then(result => {
        // A settled attempt is not aborted any more: its kept connection may still be reading the end of the answer.
        this.#pending.delete(index)
        if (!this.#ended) this.#take(index, result)
      }),
    )
  }

  #take(index: number, result: ProbeResult): void {
    this.#last = result
    switch (result.kind) {
      case 'success':
        this.#end({ result, firstMissed: this.#firstUnknown ? undefined : index > 0 })
        return
      case 'failure':
        this.#failed++
        this.#reason = result.reason
        break
      case 'unknown':
        this.#unknown++
        this.#unknownResult = result
        if (index === 0) this.#firstUnknown = true
        break
    }
    if (this.#started === this.#options.attempts && this.#pending.size === 0) this.#giveUp()
    else if (result.kind === 'failure') this.#options.onMissed(this.#missed())
  }

  #giveUp(): void {
    const says = this.#started - this.#unknown
    // When most attempts broke on our side, the rest is not enough to speak against the node.
    const result: ProbeResult =
      this.#unknownResult !== undefined && this.#unknown >= says
        ? this.#unknownResult
        : { kind: 'failure', reason: this.#reason ?? 'no answer' }
    this.#end({ result, firstMissed: undefined })
  }

  #end(end: ClimbEnd): void {
    this.stop()
    this.#options.onEnd(end)
  }
}

/** A plugin that throws has a bug: that is our fault, so it lowers no node's score. */
const ask = async (
  plugin: CheckPlugin,
  target: Target,
  attempt: Parameters<CheckPlugin['probe']>[1],
): Promise<ProbeResult> => {
  try {
    return await plugin.probe(target, attempt)
  } catch (error) {
    return { kind: 'unknown', reason: `plugin ${plugin.name} broke: ${reasonOf(error)}` }
  }
}
