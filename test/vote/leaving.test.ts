// SPDX-License-Identifier: Apache-2.0
// A node that says that it leaves is not condemned for a while: `--leave-grace`.
import t from 'tap'
import { FLAG } from '../../vote/evidence.js'
import { settled } from './judge-bench.js'

t.test('a leaving node has its time of grace', t => {
  const b = settled(5).flag(4, FLAG.kubeletWell | FLAG.leaving)
  b.e.hear([4], b.now)
  const leftAt = b.now
  b.kill([4]).pass(1)
  t.ok(b.judge().nextAt <= leftAt + 30_000)
  b.pass(28)
  t.equal(b.j.pendingAt[4], Infinity, 'nothing begins within it')
  b.pass(8)
  t.equal(b.verdicts()[4], 'unhealthy', 'a node that never comes back is dead')
  t.end()
})

t.test('who says for ever that it leaves is spared once', t => {
  const leaving = FLAG.kubeletWell | FLAG.leaving
  for (const isFlipping of [false, true]) {
    const b = settled(5).flag(4, leaving)
    b.see([0, 1, 2, 3], [4])
    const downAt = b.now
    let spared = 0
    while (b.verdicts()[4] !== 'unhealthy' && b.now < downAt + 120_000) {
      if (isFlipping) b.flag(4, spared % 3 === 0 ? FLAG.kubeletWell : leaving)
      b.e.hear([4], b.now)
      b.pass(1)
      spared++
    }
    t.equal(b.verdicts()[4], 'unhealthy')
    t.ok(spared <= 38, `it was spared for ${spared} s`)
  }
  t.end()
})

t.test('who says for ever that it leaves is condemned with any options', t => {
  for (const [leaveGraceMs, writeHoldMs] of [
    [30_000, 30_000],
    [30_000, 59_000],
    [10_000, 20_000],
    [3_000, 5_000],
    [1_000, 1_000],
    [0, 5_000],
    [600_000, 59_000],
  ] as const) {
    const b = settled(5).flag(4, FLAG.kubeletWell | FLAG.leaving)
    b.o = { ...b.o, leaveGraceMs, writeHoldMs }
    b.see([0, 1, 2, 3], [4])
    const downAt = b.now
    const mostMs = leaveGraceMs + writeHoldMs + 12_000
    while (b.verdicts()[4] !== 'unhealthy' && b.now < downAt + mostMs) {
      b.e.hear([4], b.now)
      b.pass(1)
    }
    t.equal(b.verdicts()[4], 'unhealthy', `grace ${leaveGraceMs}, hold ${writeHoldMs} ms`)
  }
  t.end()
})

t.test('a node that leaves again later has its grace again', t => {
  const b = settled(5)
  const leaveAndReturn = (): boolean => {
    b.flag(4, FLAG.kubeletWell | FLAG.leaving).see([0, 1, 2, 3], [4])
    b.e.hear([4], b.now)
    b.pass(25)
    const isSpared = b.j.pendingAt[4] === Infinity && b.verdicts()[4] === 'healthy'
    b.flag(4, FLAG.kubeletWell).see([0, 1, 2, 3], [4], false)
    b.e.hear([4], b.now)
    b.pass(1)
    return isSpared
  }
  t.ok(leaveAndReturn())
  b.pass(70)
  t.ok(leaveAndReturn(), 'a record TTL after the end of the first')
  t.notOk(leaveAndReturn(), 'not at once')
  t.end()
})
