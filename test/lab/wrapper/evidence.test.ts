// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { answered, failures, goneSince, hasExactly, heldSince, isQuietWithout } from './evidence.js'

const rules = [
  { at: 0, backends: undefined },
  { at: 10, backends: new Set(['a', 'b']) },
  { at: 5_000, backends: new Set(['a']) },
]
const connection = (begunAt: number, by?: string) => ({ begunAt, tookMs: 1, by, reason: '' })

t.equal(goneSince(rules, 'b'), 5_000, 'gone from the moment when it was in no rule')
t.equal(goneSince(rules, 'a'), undefined, 'still there')
t.equal(goneSince(rules, 'c'), undefined, 'what never was there is not gone')
t.equal(goneSince([...rules, rules[1]!], 'b'), undefined, 'back again is not gone')

t.equal(hasExactly({ rules, connections: [] }, ['a']), true)
t.equal(hasExactly({ rules, connections: [] }, ['a', 'b']), false, 'one is missing')
t.equal(hasExactly({ rules, connections: [] }, []), false, 'one too many')
t.equal(hasExactly({ rules: [], connections: [] }, []), false, 'no rules are not empty rules')

t.equal(heldSince({ rules, connections: [] }, 20, ['a']), true)
t.equal(heldSince({ rules, connections: [] }, 20, ['b']), false, 'it went')
t.equal(heldSince({ rules, connections: [] }, 5, ['a']), false, 'there was a moment without')
t.equal(heldSince({ rules: [], connections: [] }, 0, []), false, 'nothing seen proves nothing')

const connections = [
  connection(4_900),
  connection(5_100),
  connection(5_300, 'a'),
  connection(6_000, 'a'),
]
t.equal(failures({ rules, connections }, 5_000).length, 1)
t.equal(failures({ rules, connections }, 0, 5_000).length, 1)
t.equal(isQuietWithout({ rules, connections }, 'b'), true, 'what was under way may fail')
t.equal(
  isQuietWithout({ rules, connections: [...connections, connection(7_000)] }, 'b'),
  false,
  'one that was begun later',
)
t.equal(isQuietWithout({ rules, connections }, 'a'), false, 'it is not gone')
t.equal(answered({ rules, connections }, 5_000, ['a']), true)
t.equal(answered({ rules, connections }, 5_000, ['a', 'b']), false)
