// SPDX-License-Identifier: Apache-2.0
import type { Moment } from './moment.js'

/**
 * Collects the next instant at which time alone may change a decision, so that the caller can sleep until then.
 * Each rule reports here the same instant that it compares with `now >= instant`, so a caller that wakes then finds it passed.
 */
export interface NextDeadline extends Moment {
  nextAt: number
}

export const makeNextDeadline = ({ now, options }: Moment): NextDeadline => ({
  now,
  options,
  nextAt: Infinity,
})

/** Remember `at` if it still lies ahead and is the earliest so far. */
export const noteDeadline = (deadline: NextDeadline, at: number): void => {
  if (at > deadline.now && at < deadline.nextAt) deadline.nextAt = at
}
