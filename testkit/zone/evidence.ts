// SPDX-License-Identifier: Apache-2.0
import { FLAG, type Evidence } from '../../vote/evidence.js'
import type { JudgeContext } from '../../vote/judge.js'
import type { VoteOptions } from '../../vote/options.js'
import { NO_WITNESS } from '../../vote/witness.js'

/** The defaults of `--profile default`. */
export const voteOptions = (changes: Partial<VoteOptions> = {}): VoteOptions => ({
  recordTtlMs: 60_000,
  reaffirmWindowMs: 8_000,
  writeHoldMs: 5_000,
  writerStaggerMs: 2_000,
  brakeShare: 0.4,
  witness: 'apiserver',
  vouch: 'lease',
  vouchFreshMs: 30_000,
  leaveGraceMs: 30_000,
  ...changes,
})

/** A judge's context where the cluster shows nobody marked. */
export const unmarked = (witness = NO_WITNESS): JudgeContext => ({ witness, isMarked: () => false })

/** Evidence that a test writes by hand. At first everybody has just spoken, is well, and says that all are up. */
export class ScriptedEvidence implements Evidence {
  readonly size: number
  readonly self: number
  readonly producedAt: Float64Array
  readonly flags: Uint8Array
  readonly cloudCutAt: Float64Array
  readonly downVotes: Uint16Array
  readonly failedRounds: Int16Array
  readonly #down: Uint8Array
  readonly #unlooked = new Set<number>()
  readonly #observers: readonly (readonly number[])[]

  constructor(size: number, self = 0, { now = 0, observers = mesh(size) } = {}) {
    this.size = size
    this.self = self
    this.producedAt = new Float64Array(size).fill(now)
    this.flags = new Uint8Array(size).fill(FLAG.kubeletWell)
    this.cloudCutAt = new Float64Array(size).fill(-Infinity)
    this.downVotes = new Uint16Array(size)
    this.failedRounds = new Int16Array(size)
    this.#down = new Uint8Array(size * size)
    this.#observers = observers
    this.failedRounds[self] = -1
    for (let target = 0; target < size; target++)
      if (!observers[target]!.includes(self)) this.failedRounds[target] = -1
  }

  observersOf(target: number): readonly number[] {
    return this.#observers[target]!
  }

  saysDown(observer: number, target: number): boolean {
    return this.#down[observer * this.size + target] === 1
  }

  hasLooked(observer: number, target: number): boolean {
    return !this.#unlooked.has(observer * this.size + target)
  }

  /** `observer` watches `target` since a moment ago only. */
  hasJustBegun(observer: number, target: number): this {
    this.#unlooked.add(observer * this.size + target)
    return this
  }

  /** `observers` say, in records made at `at`, that `targets` are down (or up). Own rounds follow. */
  say(observers: readonly number[], targets: readonly number[], isDown: boolean, at: number): this {
    for (const observer of observers) {
      this.producedAt[observer] = at
      for (const target of targets) {
        if (!this.observersOf(target).includes(observer)) continue
        this.#down[observer * this.size + target] = isDown ? 1 : 0
        if (observer === this.self) this.failedRounds[target] = isDown ? 1 : 0
      }
    }
    for (const target of targets)
      this.downVotes[target] = range(this.size).filter(o => this.saysDown(o, target)).length
    return this
  }

  /** New records of `members`, with nothing new in them. */
  hear(members: readonly number[], at: number): this {
    for (const member of members) this.producedAt[member] = at
    return this
  }
}

/** 0 … n − 1. */
export const range = (n: number): number[] => [...Array(n).keys()]

/** Everybody watches everybody else. */
export const mesh = (size: number): number[][] =>
  range(size).map(target => range(size).filter(other => other !== target))

/** The k that come before each node on one ring watch it. */
export const ring = (size: number, k: number): number[][] =>
  range(size).map(target => range(k).map(step => (target + size - 1 - step) % size))
