// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  nextRotation,
  stillTrusted,
  type Authority,
  type RotationState,
} from '../../../admission/model/rotation.js'

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

t.test('which authorities stay that the Secret does not hold', t => {
  const authority = (text: string, since: number, until = since + 91): Authority => ({
    text,
    ...from(since, until),
  })
  const [old, mid, young] = [authority('old', -60), authority('mid', -30), authority('young', -1)]
  const rows: [claim: string, others: Authority[], previous: Authority[], stay: string[]][] = [
    ['none', [], [], []],
    ['without a renewal all', [old, mid, young], [], ['young', 'mid', 'old']],
    ['after one those that are no older', [old, mid, young], [mid], ['young', 'mid']],
    ['than all of the previous ones', [old, mid, young], [young, mid], ['young', 'mid']],
    ['not what is over', [authority('over', -91, 0), young], [], ['young']],
    ['nor what is of the future', [authority('future', 1), young], [], ['young']],
    ['of one age in one order', [authority('b', -1), authority('a', -1)], [], ['a', 'b']],
    ['and in the other', [authority('a', -1), authority('b', -1)], [], ['a', 'b']],
    [
      'eight, the youngest',
      Array.from({ length: 20 }, (_, at) => authority(`${at}`, at - 20)),
      [],
      ['19', '18', '17', '16', '15', '14', '13', '12'],
    ],
  ]
  for (const [claim, others, previous, stay] of rows)
    t.strictSame(stillTrusted(others, previous, NOW), stay, claim)
  t.end()
})
