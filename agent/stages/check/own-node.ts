// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { HttpGet } from '../../../core/dial.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { SelfReport } from '../../../plugins/seams.js'
import { makeSelfReport, type SelfReporter } from './self-report.js'
import type { OwnWord } from './own-word.js'
import type { CloudLinkState } from '../../results.js'
import { watchCloudLink, type CloudLink } from './cloud-link.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { LoopLag } from '../../ports/loop-lag.js'

interface OwnNodeSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly loopLag?: LoopLag | undefined
  readonly http: HttpGet
  /** One round trip; rejects when the apiserver does not answer. */
  readonly ping: (signal: AbortSignal) => Promise<void>
  readonly onLink: (state: CloudLinkState) => void
  /** Called each time when it is seen how the kubelet is. */
  readonly onKubelet: (state: SelfReport) => void
}

/** What this agent asks about its own node: whether it reaches the apiserver, and what its kubelet says. */
export class OwnNode {
  readonly #options: AgentOptions
  readonly #seams: OwnNodeSeams
  #cloudLink: CloudLink | undefined
  #selfReport: SelfReporter | undefined

  constructor(options: AgentOptions, seams: OwnNodeSeams) {
    this.#options = options
    this.#seams = seams
  }

  /** In words: why it is unknown or bad; empty when it is well. */
  get kubeletReason(): string {
    return this.#selfReport?.reason ?? 'not asked yet'
  }

  /** Ask both anew. Until there is a result what was told before stands, except that the link works. @returns the link's first state. */
  start(before: OwnWord): CloudLinkState {
    const { clock, random, log, loopLag, http, ping, onLink, onKubelet } = this.#seams
    void this.stop()
    this.#cloudLink = watchCloudLink(this.#options, {
      ...{ clock, random, log, ping, before: before.cloudLink },
      onChange: onLink,
    })
    this.#selfReport = makeSelfReport(this.#options, {
      ...{ http, clock, log, loopLag },
      before: { state: before.kubelet, hasAnswered: this.#selfReport?.hasAnswered === true },
      onSeen: onKubelet,
    })
    return this.#cloudLink.current
  }

  get isStarted(): boolean {
    return this.#cloudLink !== undefined
  }

  /** May be called twice. */
  async stop(): Promise<void> {
    await Promise.all([this.#selfReport?.stop(), this.#cloudLink?.stop()])
  }
}
