// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { explainNode } from '../../../admission/model/explain.js'
import { knowing, STAMP, type NodeOdds } from '../../../testkit/admission/reviews.js'

t.test('how a node stands, in words', t => {
  const rows: [node: NodeOdds, isKept: boolean, why: RegExp, wordSeconds: number | null][] = [
    [{ name: 'n1' }, true, /peers vouch/, 5],
    [{ name: 'n1', ready: 'True' }, false, /hears it/, 5],
    [{ name: 'n1', isMarked: true }, false, /nodeunhealth/, 5],
    [{ name: 'n1', word: { agoMs: 40_000 } }, false, /too old/, 40],
    [{ name: 'n2' }, false, /no Node of this name/, null],
  ]
  for (const [node, isKept, why, wordSeconds] of rows) {
    const known = { ...knowing([node]), now: STAMP }
    t.match(explainNode('n1', known), { name: 'n1', isKept, why, wordSeconds })
  }
  t.equal(explainNode('n1', { ...knowing([{}]), now: undefined }).wordSeconds, null)
  t.end()
})
