// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { nextRotation, type RotationState } from '../../../admission/model/rotation.js'

const NOW = Date.UTC(2026, 0, 1)
const DAY = 86_400_000
/** Days from now. */
const from = (since: number, until: number) => ({
  from: NOW + since * DAY,
  until: NOW + until * DAY,
})
const state = (odds: Partial<RotationState>): RotationState => ({
  ...{ current: from(-1, 90), next: undefined, nextTrustedSince: undefined },
  ...odds,
})

t.test('what is to be done about the certificates', t => {
  const next = from(-1, 90)
  const settled = NOW - 60_000
  const rows: [claim: string, state: RotationState, step: string][] = [
    ['there is none', state({ current: undefined }), 'make'],
    ['it is over', state({ current: from(-91, 0) }), 'make'],
    ['it is of the future', state({ current: from(1, 90) }), 'make'],
    ['it is new', state({}), 'none'],
    ['two thirds of its life are not over', state({ current: from(-59, 31) }), 'none'],
    ['they are', state({ current: from(-60, 30) }), 'prepare'],
    ['the next is not trusted', state({ current: from(-60, 30), next }), 'none'],
    ['… not for a minute', state({ next, nextTrustedSince: settled + 1 }), 'none'],
    ['… it is', state({ next, nextTrustedSince: settled }), 'promote'],
    ['the next is over, too', state({ current: from(-60, 30), next: from(-90, 0) }), 'prepare'],
    ['nothing else is left', state({ current: undefined, next }), 'promote'],
  ]
  for (const [claim, state, step] of rows) t.equal(nextRotation(state, NOW), step, claim)
  t.end()
})
