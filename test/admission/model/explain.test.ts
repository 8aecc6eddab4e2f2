// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { explainNode } from '../../../admission/model/explain.js'
import { knowing, STAMP, type NodeOdds } from '../../../testkit/admission/reviews.js'

t.test('how a node stands, in words', t => {
  const rows: [node: NodeOdds, isKept: boolean, why: RegExp, reportSeconds: number | null][] = [
    [{ name: 'n1' }, true, /peers vouch/, 5],
    [{ name: 'n1', ready: 'True' }, false, /hears it/, 5],
    [{ name: 'n1', isMarked: true }, false, /nodeunhealth/, 5],
    [{ name: 'n1', word: { agoMs: 40_000 } }, false, /too old/, 40],
    [{ name: 'n2' }, false, /no Node of this name/, null],
  ]
  for (const [node, isKept, why, reportSeconds] of rows) {
    const known = { ...knowing([node]), now: STAMP }
    t.match(explainNode('n1', known), { name: 'n1', isKept, why, reportSeconds })
  }
  t.equal(explainNode('n1', { ...knowing([{}]), now: undefined }).reportSeconds, null)
  t.end()
})
