// SPDX-License-Identifier: Apache-2.0
import type { CheckPlugin, Target } from '../../../core/check.js'
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import { shuffle, type Random } from '../../../core/random.js'
import type { RoundOutcome } from '../../results.js'
import type { CheckOptions } from '../../options/agent-options.js'
import type { LoopLag } from '../../ports/loop-lag.js'
import { ProbeWorker, type Credit, type VoidRound, type WorkerContext } from './probe-worker.js'
import type { TargetState } from './target-history.js'

/** The world as the checker sees it. */
export interface CheckerSeams {
  readonly plugins: readonly CheckPlugin[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Without it no round is void because this process was late. */
  readonly loopLag?: LoopLag | undefined
  /** Called for each round that found the target up or down. */
  readonly onRound: (outcome: RoundOutcome) => void
  /** Called for each void round. */
  readonly onVoid: (round: VoidRound) => void
  /** What an answer from the target's address is worth. Default: it counts as the target's. */
  readonly credit?: (target: Target) => Credit
  /** Other observers of the target should look now: two attempts were missed, or it went down just now. */
  readonly callForVotes: (target: NodeName) => void
}

/** Probes peers, each on its own timer. */
export interface Checker {
  /**
   * From now on probe these. Those that stay keep their state; a changed address is a new target. The first rounds of
   * new ones are spread over the next second.
   */
  setTargets(list: readonly Target[]): void
  /** Abort the running rounds and probe all targets anew, as if they were new; what was seen stays until then. */
  restart(): void
  /** Start a round now, unless one runs or the node is not a target. */
  probeNow(name: NodeName): void
  /** Probe all targets now; at most once per check period. */
  sweep(): void
  /** Rounds that start from now on take this many times as long; 1 is normal, less counts as 1. */
  slowDown(factor: number): void
  /** This node itself was cut off: the falls of the last rounds are not held against the targets. */
  forgiveFalls(): void
  /** Why probing cannot work at all at present, in words; undefined when it can. */
  readonly trouble: string | undefined
  /** Undefined for a node that is not a target. */
  stateOf(name: NodeName): TargetState | undefined
  /** Abort everything; resolves when no probe is at work. May be called twice. */
  stop(): Promise<void>
}

const FIRST_ROUNDS_MS = 1_000
const SWEEP_LEAST = 2
const SWEEP_SHARE = 0.2
const SWEEP_TARGETS = 15
/** Falls within this many check periods may come from one isolation of this node. */
const ISOLATION_PERIODS = 2

const TARGETS_OWN: Credit = Object.freeze({ vote: 'up', reason: '' })

class PeerChecker implements Checker {
  readonly #periodMs: number
  readonly #seams: CheckerSeams
  readonly #context: WorkerContext
  readonly #left = new Set<Promise<void>>()
  #workers = new Map<NodeName, ProbeWorker>()
  #factor = 1
  #sweptAt = -Infinity
  #stopped = false

  constructor(options: CheckOptions, seams: CheckerSeams) {
    this.#periodMs = options.checkPeriodMs
    this.#seams = seams
    this.#context = {
      ...seams,
      options,
      loopLag: seams.loopLag,
      credit: seams.credit ?? (() => TARGETS_OWN),
      factor: () => this.#factor,
      onFall: () => {
        this.#forgiveIfIsolated()
        this.#sweepIfMany()
      },
      onLeft: work => this.#keep(work),
    }
  }

  setTargets(list: readonly Target[]): void {
    if (this.#stopped) return
    const old = this.#workers
    const next = new Map<NodeName, ProbeWorker>()
    for (const target of list) {
      const kept = old.get(target.name)
      const isSame = kept?.target.address === target.address
      next.set(target.name, isSame ? kept : new ProbeWorker(target, this.#context))
    }
    this.#workers = next
    for (const [name, worker] of old) if (next.get(name) !== worker) worker.stop()
    this.#startSpread([...next.values()].filter(worker => old.get(worker.target.name) !== worker))
  }

  restart(): void {
    if (this.#stopped) return
    const workers = [...this.#workers.values()]
    for (const worker of workers) worker.reset()
    this.#startSpread(workers)
  }

  forgiveFalls(): void {
    const sinceAt = this.#seams.clock.now() - ISOLATION_PERIODS * this.#periodMs
    for (const worker of this.#workers.values()) worker.forgiveFall(sinceAt)
  }

  probeNow(name: NodeName): void {
    this.#workers.get(name)?.probeNow()
  }

  sweep(): void {
    const now = this.#seams.clock.now()
    if (now - this.#sweptAt < this.#periodMs) return
    this.#sweptAt = now
    for (const worker of this.#workers.values()) worker.probeNow()
  }

  slowDown(factor: number): void {
    this.#factor = Math.max(1, factor)
  }

  stateOf(name: NodeName): TargetState | undefined {
    return this.#workers.get(name)?.state
  }

  get trouble(): string | undefined {
    const workers = [...this.#workers.values()]
    const broken = this.#seams.plugins.flatMap(plugin => brokenWords(plugin, workers) ?? [])
    if (broken.length > 0) return broken.join('; ')
    const isBlind = workers.every(({ state }) => state.failedRounds < 0 && state.voidRounds > 0)
    return workers.length > 0 && isBlind
      ? `no node can be probed: ${workers[0]!.state.reason}`
      : undefined
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const worker of this.#workers.values()) worker.stop()
    while (this.#left.size > 0) await Promise.all(this.#left)
  }

  /** In random order, so that agents that start together do not all begin with the same node. */
  #startSpread(added: readonly ProbeWorker[]): void {
    const { random } = this.#seams
    const step = Math.min(FIRST_ROUNDS_MS, this.#periodMs) / added.length
    shuffle(random, added).forEach((worker, place) =>
      worker.start(step * (place + random.below(1_000) / 1_000)),
    )
  }

  /** When most targets are down, this node is more likely to be cut off than they are. */
  #forgiveIfIsolated(): void {
    let down = 0
    for (const { state } of this.#workers.values()) if (state.isDown) down++
    if (down >= SWEEP_LEAST && 2 * down > this.#workers.size) this.forgiveFalls()
  }

  /** Several falls at once may be a cut in the network: probe everybody now to see who else is behind it. */
  #sweepIfMany(): void {
    let failing = 0
    for (const { state } of this.#workers.values()) if (state.failedRounds > 0) failing++
    const many = SWEEP_SHARE * Math.min(this.#workers.size, SWEEP_TARGETS)
    if (failing >= SWEEP_LEAST && failing >= many) this.sweep()
  }

  #keep(work: Promise<void>): void {
    this.#left.add(work)
    void work.then(() => this.#left.delete(work))
  }
}

/** Says why, when a plugin can probe no target until something on this node is repaired. */
const brokenWords = (plugin: CheckPlugin, workers: readonly ProbeWorker[]): string | undefined => {
  const results = workers.flatMap(worker => worker.lastResults.get(plugin) ?? [])
  const worst = results.find(result => result.kind === 'unknown' && result.needsRepair === true)
  if (worst?.kind !== 'unknown' || results.some(({ kind }) => kind !== 'unknown')) return undefined
  return `check plugin ${plugin.name} cannot run: ${worst.reason}`
}

/** A checker without targets; it starts with the first `setTargets`. */
export const makeChecker = (options: CheckOptions, seams: CheckerSeams): Checker =>
  new PeerChecker(options, seams)
