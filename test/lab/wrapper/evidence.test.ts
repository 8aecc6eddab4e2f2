// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  account,
  answered,
  failures,
  goneSince,
  goneWithin,
  hasExactly,
  heldSince,
  isQuietWithout,
} from './evidence.js'

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

const dead = { address: 'b', from: 4_000, until: 8_000 }
const andBack = [...rules, { at: 9_000, backends: new Set(['a', 'b']) }]
t.equal(goneWithin(andBack, dead), 5_000, 'it came back when it lived again')
t.equal(goneWithin(andBack, { ...dead, until: 9_500 }), undefined, 'it came back too soon')
t.equal(goneWithin(rules, { ...dead, until: 4_500 }), undefined, 'it went when it was over')
t.equal(goneWithin(rules, { ...dead, from: 6_000 }), undefined, 'it had gone before')

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

t.equal(
  account({ rules, connections }, 4_000, 5_900),
  '2 of 3 connections failed (66.7 %): 0.9 s , 1.1 s ',
  'those of that time, when they were begun, and why they failed',
)
const many = Array.from({ length: 9 }, (_, i) => ({ ...connection(i * 1_000), reason: `no ${i}` }))
t.equal(
  account({ rules, connections: many }, 0, 9_000),
  '9 of 9 connections failed (100.0 %): 0.0 s no 0, 1.0 s no 1, …, 7.0 s no 7, 8.0 s no 8',
  'of many the first and the last',
)
t.equal(account({ rules, connections: [] }, 0, 1), '0 of 0 connections failed (0.0 %)')
