// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { LeaderStatus } from '../../controller/leader-election.js'
import type { OpenHub } from '../hub/hub.js'
import type { Sink } from './sink.js'

export interface TermSeams {
  readonly clock: Clock
  readonly log: Logger
  readonly hub: Pick<OpenHub, 'serve' | 'pause' | 'standBy' | 'status'>
  readonly sink: Pick<Sink, 'begin' | 'pause'>
  readonly leader: () => LeaderStatus
  /** Aborts when the program ends. */
  readonly signal: AbortSignal
}

/**
 * How long edges stay connected to a bridge that lost its Lease while nobody else has it. A disconnected edge returns after
 * half a minute at the earliest and looks dead meanwhile; most restarts of an apiserver are shorter.
 */
const KEEP_MS = 60_000
const LOOK_MS = 1_000

/** Whether edges may connect and stay connected, from one term to the next. */
export class Terms {
  readonly #seams: TermSeams
  /** Our name as the Lease's holder, while we lead. */
  #own = ''
  #isServing = false
  #between: AbortController | undefined

  constructor(seams: TermSeams) {
    this.#seams = seams
  }

  /** Edges are accepted. */
  get isServing(): boolean {
    return this.#isServing
  }

  begin(): void {
    const { hub, sink, leader } = this.#seams
    this.#between?.abort()
    this.#own = leader().holder
    this.#isServing = true
    sink.begin()
    hub.serve()
  }

  /** The term is over: requests of connected edges are refused, and edges are disconnected once another bridge leads. */
  end(): void {
    if (!this.#isServing) return
    const { hub, sink } = this.#seams
    this.#isServing = false
    sink.pause()
    hub.pause()
    void this.#wait((this.#between = new AbortController()))
  }

  async #wait({ signal }: AbortController): Promise<void> {
    const { clock, log, hub, signal: program } = this.#seams
    const until = clock.now() + KEEP_MS
    while (!program.aborted && clock.now() < until && !this.#isOthers())
      if (!(await sleep(clock, LOOK_MS, AbortSignal.any([signal, program]))) && signal.aborted)
        return
    if (hub.status.connected > 0)
      log.warn('all edges are disconnected', { leader: this.#seams.leader() })
    hub.standBy()
  }

  #isOthers(): boolean {
    const { holder } = this.#seams.leader()
    return holder !== '' && holder !== this.#own
  }
}
