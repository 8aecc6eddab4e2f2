// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { range, ring, ScriptedEvidence } from '../../testkit/zone/evidence.js'
import { Bench, settled } from './judge-bench.js'

t.test('the brake', t => {
  const many = new Bench(new ScriptedEvidence(20, 0, { observers: ring(20, 4) })).pass(8)
  many.kill([1, 3, 5, 7, 9, 11, 13, 15]).pass(20)
  t.equal(many.verdicts().filter(v => v === 'unhealthy').length, 8, 'up to 40 % are condemned')
  t.notOk(many.j.brake)
  t.equal(many.j.disruption, 'normal')
  const late = many.kill([17]).pass(20)
  t.ok(late.j.brake, 'the ninth of twenty is held')
  t.equal(late.verdicts().filter(v => v === 'unhealthy').length, 8, 'and those before it stay')
  t.equal(late.class(17), 'dead', 'it is shown as what it is')
  t.equal(late.j.disruption, 'partial')
  late.alive.push(3)
  late.see([0, 2, 18, 19], [3], false).pass(8)
  t.equal(late.verdicts()[3], 'healthy', 'clearing knows no brake')
  t.equal(late.pass(8).verdicts()[17], 'unhealthy', 'and makes room, after another hold')
  const first = settled(20)
  first.kill([1, 3, 5, 7]).pass(3)
  first.kill([9, 11, 13, 15, 17]).pass(30)
  t.equal(
    first.verdicts().filter(v => v === 'unhealthy').length,
    0,
    'the first of a disaster are not condemned for being first',
  )
  first.alive.push(3)
  first.see(first.alive, [3], false).pass(2)
  t.notOk(first.j.brake, 'one came back: the brake lets go')
  t.notOk(first.verdicts().includes('unhealthy'), 'the others may be about to: held anew')
  first.pass(10)
  t.equal(first.verdicts().filter(v => v === 'unhealthy').length, 8, 'who stays away is condemned')
  const three = settled(3, { brakeShare: 0 }).kill([2]).pass(10)
  t.equal(three.verdicts()[2], 'unhealthy', 'one node may always be condemned')
  t.end()
})

t.test('what is marked and nobody here decided counts for the brake', t => {
  const b = new Bench(new ScriptedEvidence(7))
  b.marked = [0, 4, 5]
  for (const observer of range(7)) for (const target of [4, 5]) b.e.hasJustBegun(observer, target)
  b.pass(8)
  t.equal(b.verdicts()[0], 'healthy', 'whose mark is about to be taken off does not count')
  t.strictSame(b.verdicts().slice(4, 6), ['undecided', 'undecided'])
  t.equal(b.j.dead, 2)
  t.ok(b.kill([6]).pass(20).j.brake)
  t.equal(b.verdicts()[6], 'healthy', 'the third of seven is held')
  b.marked = [5]
  t.equal(b.pass(10).verdicts()[6], 'unhealthy', 'until one of them is not marked any more')
  t.end()
})

t.test(
  'a mark of the own node does not count: who judges lives, and a zone of two has nobody else',
  t => {
    const b = new Bench(new ScriptedEvidence(2))
    b.e.hasJustBegun(1, 0)
    b.marked = [0]
    b.witness = { state: 'reachable', peerLease: 'stopped' }
    b.kill([1]).pass(70)
    t.equal(b.verdicts()[0], 'undecided', 'nobody is left who could say')
    t.equal(b.j.dead, 1)
    t.equal(b.verdicts()[1], 'unhealthy')
    t.end()
  },
)
