// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  beliefFaults,
  increaseOf,
  parseIdentityMode,
  provedMembers,
  refusalsIn,
  refusedIn,
  type Belief,
  type ShownStatus,
} from '../../../bench/agent/belief.js'

const node = (age: number | null, isSigned: boolean | null) => ({
  ...{ name: 'n', verdict: 'healthy', recordAgeSeconds: age },
  peer: isSigned === null ? null : { isSigned },
})
const status = (generation: number | null, ...nodes: ReturnType<typeof node>[]): ShownStatus => ({
  zone: { members: nodes.length },
  identity: { generation },
  nodes,
})
const good: Belief = { proved: 3, refused: {}, refusedByWorld: 0, failedOfWorld: 0 }

t.test('proved is who signed what the agent holds of it now', async t => {
  const rows: [string, ShownStatus, number][] = [
    ['all', status(1, node(0, null), node(5, true), node(60, true)), 3],
    ['a member that signs nothing', status(1, node(0, null), node(5, false)), 1],
    ['a member that was never heard', status(1, node(0, null), node(null, true)), 1],
    ['a member that was heard too long ago', status(1, node(0, null), node(61, true)), 1],
    [
      'an agent without keys of its own proves nobody',
      status(null, node(0, null), node(1, true)),
      0,
    ],
  ]
  for (const [what, shown, expected] of rows) t.equal(provedMembers(shown), expected, what)
})

t.test('refusals are read by reason, but for the one with which every talk begins', async t => {
  const text = [
    '# TYPE edge_health_exchange_refused_total counter',
    'edge_health_exchange_refused_total{reason="challenged"} 9',
    'edge_health_exchange_refused_total{reason="bad-statement"} 2',
    'edge_health_exchange_refused_total{reason="late"} 0',
  ].join('\n')
  t.same(refusalsIn(text), { 'bad-statement': 2 })
  t.same(
    increaseOf({ 'bad-statement': 1, late: 4 }, { 'bad-statement': 2, late: 4, unsigned: 3 }),
    {
      'bad-statement': 1,
      unsigned: 3,
    },
  )
})

t.test('a run counts only where everybody was believed', async t => {
  t.same(beliefFaults(good, 3, 'require'), [])
  t.same(beliefFaults({ ...good, proved: 0 }, 3, 'off'), [])
  t.match(beliefFaults({ ...good, proved: 2 }, 3, 'prefer'), [/2 of 3/])
  t.match(beliefFaults({ ...good, refused: { unsigned: 4 } }, 3, 'off'), [/4 unsigned/])
  t.match(beliefFaults({ ...good, refusedByWorld: 5 }, 3, 'off'), [/5/])
  t.match(beliefFaults({ ...good, failedOfWorld: 6 }, 3, 'off'), [/6/])
  t.equal(refusedIn({ ...good, refused: { unsigned: 4, late: 1 }, refusedByWorld: 5 }), 10)
})

t.test('there are three ways', async t => {
  t.equal(parseIdentityMode('prefer'), 'prefer')
  t.throws(() => parseIdentityMode('on'), {
    message: /--identity must be off, prefer, require, got on/,
  })
})
