// SPDX-License-Identifier: Apache-2.0
import type { CheckPlugin, ProbeResult, Target } from '../../../core/check.js'
import type { Clock } from '../../../core/clock.js'
import { scoreOf } from '../../../plugins/score.js'
import { attemptsFor, Ladder, type ClimbEnd } from './ladder.js'

/** What one plugin has learned about the link to one target. */
export interface Link {
  readonly plugin: CheckPlugin
  /** Share of first attempts that are missed, as learned so far, and never below a floor: decides how many are made. */
  loss: number
  /** The same as measured; 0 at first. */
  measuredLoss: number
}

/** One round against one target; lengths of time in milliseconds. */
export interface RoundOptions {
  readonly target: Target
  /** One per plugin, at least one. */
  readonly links: readonly Link[]
  readonly scoreLine: number
  readonly spacingMs: number
  readonly tailMs: number
  readonly attemptsMin: number
  readonly attemptsMax: number
  readonly reuse: boolean
  readonly clock: Clock
  /** A link that loses little has missed two attempts: others should look too. Called at most once. */
  readonly onSuspicion: () => void
  /** Called once, unless stopped before. */
  readonly onEnd: (end: RoundEnd) => void
}

/** What one round found. */
export interface RoundEnd {
  /** `void`: the probes broke on our side; nothing is said about the node. */
  readonly verdict: 'up' | 'down' | 'void'
  /** As `scoreOf` counts, at the moment of the decision. */
  readonly score: number
  /** Which plugins failed, or could not be asked, and why; empty when all that answered is well. */
  readonly reason: string
  /** Attempts started, of all plugins. */
  readonly attempts: number
  /** For each link that answered: whether its first attempt was missed. */
  readonly learned: ReadonlyMap<Link, boolean>
  /** What each plugin found by then; where its ladder had not ended, what its last attempt found. */
  readonly results: ReadonlyMap<CheckPlugin, ProbeResult>
}

/** Above this loss two missed attempts are usual, and no reason to call for votes. */
const QUIET_LOSS = 0.1

/** The ladders of all plugins run at the same time; the round ends as soon as missing results cannot change the verdict any more. */
export class Round {
  readonly #options: RoundOptions
  readonly #ladders: readonly Ladder[]
  readonly #results = new Map<CheckPlugin, ProbeResult>()
  readonly #learned = new Map<Link, boolean>()
  #suspected = false

  constructor(options: RoundOptions) {
    this.#options = options
    this.#ladders = options.links.map(link => this.#ladderOf(link))
  }

  start(): void {
    for (const ladder of this.#ladders) ladder.start()
  }

  /** Abort everything; nothing is called back after this. */
  stop(): void {
    for (const ladder of this.#ladders) ladder.stop()
  }

  /** Resolves when no probe is at work any more; call it after the end. */
  async settled(): Promise<void> {
    await Promise.all(this.#ladders.map(ladder => ladder.settled()))
  }

  #ladderOf(link: Link): Ladder {
    const { target, attemptsMin, attemptsMax, spacingMs, tailMs, reuse, clock } = this.#options
    const { plugin, loss } = link
    return new Ladder({
      plugin,
      target,
      attempts: attemptsFor(loss, attemptsMin, attemptsMax),
      spacingMs,
      tailMs,
      reuse,
      clock,
      onMissed: missed => {
        if (missed < 2 || loss >= QUIET_LOSS || this.#suspected) return
        this.#suspected = true
        this.#options.onSuspicion()
      },
      onEnd: end => this.#take(link, end),
    })
  }

  #take(link: Link, { result, firstMissed }: ClimbEnd): void {
    this.#results.set(link.plugin, result)
    if (firstMissed !== undefined) this.#learned.set(link, firstMissed)
    const plugins = this.#options.links.map(each => each.plugin)
    const kinds = new Map([...this.#results].map(([plugin, each]) => [plugin, each.kind]))
    const { score, verdict } = scoreOf(plugins, kinds, this.#options.scoreLine)
    if (verdict === 'open') return
    this.stop()
    const attempts = this.#ladders.reduce((sum, ladder) => sum + ladder.attempts, 0)
    this.#options.onEnd({
      ...{ verdict, score, reason: this.#reason(), attempts },
      learned: this.#learned,
      results: this.#found(),
    })
  }

  #found(): ReadonlyMap<CheckPlugin, ProbeResult> {
    const found = new Map(this.#results)
    this.#options.links.forEach(({ plugin }, index) => {
      const { last } = this.#ladders[index]!
      if (last !== undefined && !found.has(plugin)) found.set(plugin, last)
    })
    return found
  }

  #reason(): string {
    const words: string[] = []
    for (const [plugin, result] of this.#results) {
      if (result.kind === 'failure') words.push(`${plugin.name}: ${result.reason}`)
      if (result.kind === 'unknown') words.push(`${plugin.name}: unknown (${result.reason})`)
    }
    return words.join('; ')
  }
}
