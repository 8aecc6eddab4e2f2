// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Counts } from '../../core/counts.js'

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
  const counts = new Counts(['a', 'b'])
  counts.add('b')
  counts.add('c')
  t.strictSame(counts.all, { a: 0, b: 1, c: 1 })
  t.end()
})
