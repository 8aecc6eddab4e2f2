// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { resolveAgentOptions } from '../../../../agent/options/resolve.js'
import { WriteSchedule } from '../../../../agent/stages/write/write-schedule.js'

const { options } = resolveAgentOptions({
  flags: [
    { name: 'node-name', text: 'n0' },
    { name: 'node-address', text: '10.0.0.1' },
    { name: 'writer-stagger', text: '3s' },
  ],
  env: {},
})

t.test('a rank is reckoned only where something is to be written', t => {
  const schedule = new WriteSchedule(options)
  const asked: string[] = []
  const next = (node: string, rank: number | undefined) =>
    schedule.next(node, () => {
      asked.push(node)
      return rank
    })
  schedule.dueAt('b', 'dead', { turn: { rank: 2, heard: 0 }, now: 1_000 })
  t.equal(next('a', 0), undefined)
  t.strictSame(asked, [], 'nothing is to be written about a')
  t.strictSame(next('b', 2), { desired: 'dead', rank: 2, since: 1_000 })
  t.strictSame(next('b', undefined), { desired: 'dead', rank: undefined, since: 1_000 })
  schedule.forget('b')
  t.equal(next('b', 2), undefined)
  t.strictSame(asked, ['b', 'b'])
  t.end()
})

t.test('a turn counts from the first moment of desired marks', t => {
  const schedule = new WriteSchedule(options)
  const dueAt = (rank: number, now: number, heard = 0) =>
    schedule.dueAt('b', 'dead', { turn: { rank, heard }, now })
  t.equal(dueAt(0, 1_000), 1_000)
  t.equal(dueAt(1, 1_000), 4_000)
  t.equal(dueAt(1, 3_500), 4_000)
  t.equal(dueAt(1, 3_500, 1), 91_000, 'FA7: who is before us speaks')
  t.equal(dueAt(2, 3_500, 2), 181_000)
  t.equal(dueAt(99, 3_500, 99), 1_000 + 90_000 * 2 ** 10, 'a timer can wait so long')
  t.equal(
    schedule.dueAt('b', 'dead', { turn: undefined, now: 3_500 }),
    Infinity,
    'this agent does not write',
  )
  t.equal(schedule.dueAt('b', 'healthy', { turn: { rank: 1, heard: 0 }, now: 5_000 }), 8_000)
  t.equal(schedule.since('b'), 5_000)
  t.equal(schedule.size, 1)
  schedule.keepOnly(name => name !== 'b')
  t.equal(schedule.size, 0, 'FA21: who left is forgotten')
  schedule.dueAt('b', 'dead', { turn: undefined, now: 6_000 })
  schedule.clear()
  t.equal(schedule.since('b'), Infinity)
  t.end()
})
