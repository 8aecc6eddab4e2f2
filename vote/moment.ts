// SPDX-License-Identifier: Apache-2.0
import type { VoteOptions } from './options.js'

/** The instant at which something is judged, by `Clock.now`, and the options by which it is. */
export interface Moment {
  readonly now: number
  readonly options: VoteOptions
}
