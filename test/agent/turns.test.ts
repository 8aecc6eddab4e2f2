// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { resolveAgentOptions } from '../../agent/options/resolve.js'
import { Turns } from '../../agent/writer/turns.js'

const { options } = resolveAgentOptions({
  flags: [
    { name: 'node-name', text: 'n0' },
    { name: 'node-address', text: '10.0.0.1' },
    { name: 'writer-stagger', text: '3s' },
  ],
  env: {},
})

t.test('a rank is reckoned only where something is to be written', t => {
  const turns = new Turns(options)
  const asked: string[] = []
  const next = (node: string, rank: number | undefined) =>
    turns.next(node, () => {
      asked.push(node)
      return rank
    })
  turns.dueAt('b', 'dead', { rank: 2, now: 1_000 })
  t.equal(next('a', 0), undefined)
  t.strictSame(asked, [], 'nothing is to be written about a')
  t.strictSame(next('b', 2), { wish: 'dead', rank: 2, at: 7_000 })
  t.strictSame(next('b', undefined), { wish: 'dead', rank: undefined, at: Infinity })
  turns.forget('b')
  t.equal(next('b', 2), undefined)
  t.strictSame(asked, ['b', 'b'])
  t.end()
})

t.test('a turn counts from the first moment of a wish, and a failure puts it off', t => {
  const turns = new Turns(options)
  const dueAt = (rank: number | undefined, now: number) => turns.dueAt('b', 'dead', { rank, now })
  t.equal(dueAt(1, 1_000), 4_000)
  t.equal(dueAt(1, 3_500), 4_000)
  t.equal(dueAt(undefined, 3_500), Infinity, 'this agent does not write')
  turns.retryLater('b', 3_500)
  t.equal(dueAt(1, 3_600), 5_500)
  t.equal(turns.dueAt('b', 'healthy', { rank: 1, now: 5_000 }), 8_000, 'another wish')
  t.equal(turns.since('b'), 5_000)
  t.equal(turns.size, 1)
  turns.clear()
  t.equal(turns.since('b'), Infinity)
  t.end()
})
