// SPDX-License-Identifier: Apache-2.0
import type { Membership } from './membership.js'
import type { EngineOptions, EngineSeams } from './seams.js'
import type { Traffic } from './traffic.js'

/** What all parts of one exchange share. */
export interface ExchangeContext {
  readonly options: EngineOptions
  readonly seams: EngineSeams
  readonly membership: Membership
  readonly traffic: Traffic
  /** Aborted when the exchange ends. */
  readonly signal: AbortSignal
  /** Something is contested, or was a moment ago: news has to be fast. */
  readonly isBurst: boolean
  /** `Clock.now`. */
  readonly now: number
}
