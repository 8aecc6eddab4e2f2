// SPDX-License-Identifier: Apache-2.0
import type { Evidence, Limits, Stage, Step } from './stage.js'

/** Do something to the zone. */
export const act = (what: string, doIt: (stage: Stage) => Promise<void> | void): Step => ({
  kind: 'act',
  what,
  act: doIt,
})

/** Must come true in time. */
export const becomes = (
  claim: string,
  limitMs: (limits: Limits) => number,
  holds: (evidence: Evidence) => boolean,
): Step => ({ kind: 'becomes', claim, limitMs, holds })

/** Must be true now and for a while. */
export const stays = (
  claim: string,
  holds: (evidence: Evidence) => boolean,
  untilMs: (limits: Limits) => number = () => 0,
): Step => ({ kind: 'stays', claim, holds, untilMs, forMs: limits => limits.quietMs })
