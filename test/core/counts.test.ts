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
