// SPDX-License-Identifier: Apache-2.0
import type { Counts } from './http/views.js'
import { Histogram } from '../net/metrics-text.js'
import { keepOnly } from './keep-only.js'
import { WRITE_KINDS, WRITE_RESULTS, type RoundOutcome, type WriteRecord } from './results.js'
import type { ResultStore } from './store.js'

/** In seconds: from an answer on the same switch to the end of a round on a bad link. */
const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** What happened since the start, for the metrics. */
export class AgentCounters {
  #up = 0
  #down = 0
  #attempts = 0
  #probeFlips = 0
  #localFlips = 0
  #verdictFlips = 0
  #problems = 0
  #suspensions = 0
  readonly #connectionsEvicted = { peers: 0, local: 0, metrics: 0 }
  readonly #durations = new Histogram(DURATION_BOUNDS)
  readonly #wasDown = new Set<string>()
  /** Each kind and result is there from the start: a series that appears with its first count shows no increase. */
  readonly #writes = new Map<
    string,
    { kind: string; result: WriteRecord['result']; count: number }
  >(
    WRITE_KINDS.flatMap(kind =>
      WRITE_RESULTS.map(result => [`${kind} ${result}`, { kind, result, count: 0 }]),
    ),
  )

  /** Counts what happens in the store from now on. */
  constructor(store: ResultStore) {
    store.round.subscribe(outcome => this.#round(outcome))
    store.vote.subscribe(({ changes }) => {
      this.#localFlips += changes.local.length
      this.#verdictFlips += changes.verdict.length
    })
    store.write.subscribe(write => this.#write(write))
    store.configProblem.subscribe(() => this.#problems++)
    store.records.subscribe(records =>
      keepOnly(this.#wasDown, name => records?.roster.indexOf(name) !== undefined),
    )
  }

  #round({ target, vote, attempts, failedRounds, startedAt, endedAt }: RoundOutcome): void {
    if (failedRounds > 0) this.#down++
    else this.#up++
    if (failedRounds === 0) this.#durations.add((endedAt - startedAt) / 1_000)
    this.#attempts += attempts
    const isDown = vote === 'down'
    if (vote === 'not-looked' || isDown === this.#wasDown.has(target)) return
    this.#probeFlips++
    if (isDown) this.#wasDown.add(target)
    else this.#wasDown.delete(target)
  }

  #write({ kind, result }: Pick<WriteRecord, 'kind' | 'result'>): void {
    this.#writes.get(`${kind} ${result}`)!.count++
  }

  suspended(): void {
    this.#suspensions++
  }

  connectionEvicted(listener: keyof Counts['connectionsEvicted']): void {
    this.#connectionsEvicted[listener]++
  }

  show(voidRounds: number): Omit<Counts, 'exchange' | 'watchLists'> {
    return {
      probeRounds: { up: this.#up, down: this.#down, void: voidRounds },
      probeAttempts: this.#attempts,
      probeDuration: this.#durations.show(),
      flips: { probe: this.#probeFlips, local: this.#localFlips, verdict: this.#verdictFlips },
      writes: [...this.#writes.values()].map(row => ({ ...row })),
      configProblems: this.#problems,
      suspensions: this.#suspensions,
      connectionsEvicted: { ...this.#connectionsEvicted },
    }
  }
}
