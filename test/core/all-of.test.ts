// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { allOf } from '../../core/all-of.js'

type Way = 'up' | 'down'

t.test('a union as a list, in the order given', t => {
  t.strictSame(allOf<Way>({ up: true, down: true }), ['up', 'down'])
  t.end()
})

t.test('the compiler refuses a member left out, and one that the union does not have', t => {
  // @ts-expect-error down is left out
  t.strictSame(allOf<Way>({ up: true }), ['up'])
  // @ts-expect-error sideways is no member
  t.strictSame(allOf<Way>({ up: true, down: true, sideways: true }), ['up', 'down', 'sideways'])
  t.end()
})
