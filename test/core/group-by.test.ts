// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { groupBy } from '../../core/group-by.js'

t.test('members by what is said of them, in their order', t => {
  const groups = groupBy([3, 1, 4, 1, 5, 9, 2, 6], n => (n % 2 === 0 ? 'even' : 'odd'))
  t.strictSame(
    [...groups],
    [
      ['odd', [3, 1, 1, 5, 9]],
      ['even', [4, 2, 6]],
    ],
  )
  t.equal(groupBy([], String).size, 0)
  t.end()
})
