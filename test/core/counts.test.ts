// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Counts, pairsOf } from '../../core/counts.js'

t.test('each word is counted by itself', t => {
  const counts = new Counts()
  t.strictSame(counts.all, {})
  counts.add('a')
  counts.add('b', 3)
  counts.add('a')
  t.strictSame(counts.all, { a: 2, b: 3 })
  t.end()
})

t.test('words that are known are there from the start', t => {
  const counts = new Counts<string>(['a', 'b'])
  counts.add('b')
  counts.add('c')
  t.strictSame(counts.all, { a: 0, b: 1, c: 1 })
  t.end()
})

t.test('pairs are each of the first with each of the second, and nothing else is counted', t => {
  const counts = new Counts(pairsOf(['apply', 'delete'], ['done', 'failed']))
  counts.add('delete done')
  // @ts-expect-error no such pair
  counts.add('done apply', 0)
  const seen = { 'apply done': 0, 'apply failed': 0, 'delete done': 1, 'delete failed': 0 }
  t.match(counts.all, seen)
  t.end()
})
