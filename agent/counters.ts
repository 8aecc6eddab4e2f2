// SPDX-License-Identifier: Apache-2.0
import type { Counts } from './http/views.js'
import { keepOnly } from './keep-only.js'
import type { RoundOutcome, WriteRecord } from './results.js'
import type { ResultStore } from './store.js'

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
  readonly #connectionsEvicted = { peers: 0, local: 0 }
  readonly #wasDown = new Set<string>()
  readonly #writes = new Map<
    string,
    { kind: string; result: WriteRecord['result']; count: number }
  >()

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

  #round({ target, isDown, attempts }: RoundOutcome): void {
    if (isDown) this.#down++
    else this.#up++
    this.#attempts += attempts
    if (isDown === this.#wasDown.has(target)) return
    this.#probeFlips++
    if (isDown) this.#wasDown.add(target)
    else this.#wasDown.delete(target)
  }

  #write({ kind, result }: Pick<WriteRecord, 'kind' | 'result'>): void {
    const key = `${kind} ${result}`
    const row = this.#writes.get(key) ?? { kind, result, count: 0 }
    row.count++
    this.#writes.set(key, row)
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
      flips: { probe: this.#probeFlips, local: this.#localFlips, verdict: this.#verdictFlips },
      writes: [...this.#writes.values()].map(row => ({ ...row })),
      configProblems: this.#problems,
      suspensions: this.#suspensions,
      connectionsEvicted: { ...this.#connectionsEvicted },
    }
  }
}
