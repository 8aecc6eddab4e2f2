// SPDX-License-Identifier: Apache-2.0
import { sleep, withTimeout, type Clock } from '../../../core/clock.js'
import type { ProbeResult } from '../../../core/check.js'
import type { HttpGet } from '../../../core/dial.js'
import type { Logger } from '../../../core/log.js'
import { failure, REFUSED, resultOfError, SUCCESS, unknown } from '../../../plugins/outcome.js'
import type { SelfReport } from '../../../plugins/seams.js'
import type { CheckOptions } from '../../options/agent-options.js'
import type { LoopLag } from '../../ports/loop-lag.js'

/** The world as the self-report sees it. */
export interface SelfReporterSeams {
  readonly http: HttpGet
  readonly clock: Clock
  readonly log: Logger
  readonly loopLag?: LoopLag | undefined
  /** Called after each question that settles how the kubelet is, changed or not. */
  readonly onSeen: (state: SelfReport) => void
  /** What was known before a restart or a suspension. @default nothing */
  readonly before?: { readonly state: SelfReport; readonly hasAnswered: boolean } | undefined
}

/** Asks the own kubelet how it is; the answer travels with the own record, so no token leaves the node. */
export interface SelfReporter {
  /** As before until the kubelet answered, or was silent often enough. */
  readonly state: SelfReport
  /** Why the last probe failed, as text; empty while the kubelet is well. */
  readonly reason: string
  /** This agent has known it to be well. */
  readonly hasAnswered: boolean
  /** Resolves when nothing runs. May be called twice. */
  stop(): Promise<void>
}

const LONGEST_ASK_MS = 3_000
/** Silence does not count against the kubelet when this process was held up for more than this share of the time. */
const HELD_UP_SHARE = 0.5
const HELD_UP = 'this process was held up'

/**
 * Stricter than a peer's view, since others vouch because of it: only 2xx is well. A kubelet that answers but refuses to
 * say (401, 403, 429) counts as neither well nor bad.
 */
const resultOfStatus = (status: number): ProbeResult => {
  if (status >= 200 && status < 300) return SUCCESS
  const reason = `HTTP ${status}`
  return [401, 403, 429].includes(status) ? unknown(reason) : failure(reason)
}

type Options = Pick<CheckOptions, 'selfReportUrl' | 'selfReportPeriodMs' | 'selfReportFailures'>

class KubeletReporter implements SelfReporter {
  readonly #options: Options
  readonly #seams: SelfReporterSeams
  readonly #stopping = new AbortController()
  readonly #loop: Promise<void>
  #state: SelfReport
  #reason = 'not asked yet'
  #failures = 0
  #unknowns = 0
  #wasWell: boolean
  /** The state is what was seen since this began, not what was known before. */
  #isSeen = false

  constructor(options: Options, seams: SelfReporterSeams) {
    this.#options = options
    this.#seams = seams
    this.#state = seams.before?.state ?? 'unknown'
    this.#wasWell = seams.before?.hasAnswered === true
    this.#loop = this.#run()
  }

  get state(): SelfReport {
    return this.#state
  }

  get reason(): string {
    return this.#reason
  }

  get hasAnswered(): boolean {
    return this.#wasWell
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { clock } = this.#seams
    const { selfReportPeriodMs: period } = this.#options
    const { signal } = this.#stopping
    let startedAt: number
    do {
      startedAt = clock.now()
      const result = await this.#ask()
      if (!signal.aborted) this.#take(result)
    } while (await sleep(clock, Math.max(0, startedAt + period - clock.now()), signal))
  }

  async #ask(): Promise<ProbeResult> {
    const { http, clock, loopLag } = this.#seams
    const ms = Math.min(this.#options.selfReportPeriodMs, LONGEST_ASK_MS)
    const lag = loopLag?.look()
    const startedAt = clock.now()
    try {
      return await withTimeout(clock, ms, this.#stopping.signal, async signal => {
        try {
          const { status } = await http.get({
            url: this.#options.selfReportUrl,
            reuse: true,
            signal,
          })
          return resultOfStatus(status)
        } catch (error) {
          const isHeldUp = (lag?.lostMs ?? 0) > HELD_UP_SHARE * (clock.now() - startedAt)
          return signal.aborted && isHeldUp ? unknown(HELD_UP) : resultOfError(error, signal)
        }
      })
    } finally {
      lag?.end()
    }
  }

  #take(found: ProbeResult): void {
    const result = this.#credited(found)
    const limit = this.#options.selfReportFailures
    this.#reason = result.kind === 'success' ? '' : result.reason
    switch (result.kind) {
      case 'success':
        this.#failures = 0
        this.#unknowns = 0
        this.#wasWell = true
        this.#move('well')
        break
      case 'failure':
        this.#failures++
        this.#unknowns = 0
        // What was bad a moment ago need not fail so often again.
        if (this.#failures >= limit || this.#state === 'bad') this.#move('bad')
        break
      case 'unknown':
        // A probe without a result neither confirms nor clears; only many in a row make us forget what was seen.
        this.#unknowns++
        if (this.#unknowns >= limit) {
          this.#failures = 0
          // A kubelet that was seen to be bad is well again when it answers, not when we are slow.
          const staysBad = this.#isSeen && this.#state === 'bad' && result.reason === HELD_UP
          if (!staysBad) this.#move('unknown')
        }
        break
    }
  }

  /**
   * If the port was closed since we began, the kubelet may not have it (`healthzPort: 0`): that says nothing. Once the
   * kubelet has answered, a closed port means that it is gone.
   */
  #credited(found: ProbeResult): ProbeResult {
    const isRefused = found.kind === 'failure' && found.reason === REFUSED
    if (!isRefused || this.#wasWell) return found
    const reason = `${found.reason}, and it never answered (healthzPort: 0?)`
    if (reason !== this.#reason) {
      const { selfReportUrl: url } = this.#options
      this.#seams.log.warn('own kubelet cannot be asked', { url, reason })
    }
    return unknown(reason)
  }

  #move(state: SelfReport): void {
    this.#isSeen = true
    if (state !== this.#state) {
      this.#state = state
      const level = state === 'well' ? 'info' : 'warn'
      this.#seams.log[level]('own kubelet', { state, reason: this.#reason })
    }
    this.#seams.onSeen(state)
  }
}

/** Starts asking at once. */
export const makeSelfReport = (options: Options, seams: SelfReporterSeams): SelfReporter =>
  new KubeletReporter(options, seams)
