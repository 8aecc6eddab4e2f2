// SPDX-License-Identifier: Apache-2.0
import { judge, type Changes } from '../../vote/judge.js'
import { CLASSES, makeJudgement, type Judgement } from '../../vote/judgement.js'
import type { VoteOptions } from '../../vote/options.js'
import { VERDICTS, type Verdict } from '../../vote/quorum.js'
import { NO_WITNESS, type WitnessAnswer } from '../../vote/witness.js'
import { range, ScriptedEvidence, voteOptions } from '../../testkit/zone/evidence.js'

/** A zone seen by one judge, with a clock that the test turns. */
export class Bench {
  readonly e: ScriptedEvidence
  j: Judgement
  now = 0
  o: VoteOptions
  witness: WitnessAnswer = NO_WITNESS
  /** Whom the cluster shows marked. */
  marked: readonly number[] = []
  /** Who still produces records. */
  alive: number[]

  constructor(e: ScriptedEvidence, changes: Partial<VoteOptions> = {}) {
    this.e = e
    this.o = voteOptions(changes)
    this.j = makeJudgement(e.size)
    this.alive = range(e.size)
  }

  judge(): Changes {
    const isMarked = (member: number): boolean => this.marked.includes(member)
    const context = { witness: this.witness, isMarked }
    return judge(this.j, this.e, this.now, { options: this.o, context })
  }

  /** Pass time in steps of a second; the living speak at each. */
  pass(seconds: number): this {
    for (let i = 0; i < seconds; i++) {
      this.now += 1000
      this.e.hear(this.alive, this.now)
      this.e.failedRounds.forEach((rounds, target) => {
        if (rounds > 0) this.e.failedRounds[target] = rounds + 1
      })
      this.judge()
    }
    return this
  }

  /** `who` find `targets` down (or up) now. */
  see(who: readonly number[], targets: readonly number[], isDown = true): this {
    this.e.say(who, targets, isDown, this.now)
    return this
  }

  /** Members stop for good, and everybody else sees it. */
  kill(targets: readonly number[]): this {
    this.alive = this.alive.filter(member => !targets.includes(member))
    return this.see(this.alive, targets)
  }

  flag(member: number, flags: number): this {
    this.e.flags[member] = flags
    return this
  }

  verdicts(): Verdict[] {
    return Array.from(this.j.verdict, code => VERDICTS[code]!)
  }

  class(member: number): string {
    return CLASSES[this.j.nodeClass[member]!]!
  }

  hidden(): number[] {
    return range(this.e.size).filter(member => this.j.localUp[member] === 0)
  }
}

/** A zone that has settled: everybody is healthy. */
export const settled = (size: number, changes: Partial<VoteOptions> = {}, self = 0): Bench =>
  new Bench(new ScriptedEvidence(size, self), changes).pass(8)
