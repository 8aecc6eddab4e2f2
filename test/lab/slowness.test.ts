// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { type Burst, FairTime } from './slowness.js'

const at = (factor: number): Burst => ({ tookMs: 10 * factor, gotMs: 10 })

t.test('alone on the machine it is the clock’s time', async t => {
  const time = new FairTime(() => at(1))
  time.restart(5_000)
  t.equal(time.spentAt(6_000), 1_000)
  t.equal(time.spentAt(9_500), 4_500)
  t.same(time.notes, [])
  time.restart(20_000)
  t.equal(time.spentAt(20_100), 100, 'counted anew')
})

t.test('who gets half of a core has half the time', async t => {
  const time = new FairTime(() => at(2))
  time.restart(0)
  t.equal(time.spentAt(1_000), 500)
  t.equal(time.spentAt(5_000), 2_500)
  t.match(time.notes, [/a busy machine: .* up to 2\.0 times/])
})

t.test('one slow moment changes nothing, and there is an end to patience', async t => {
  const factors = [1, 1, 9, 1, 1]
  const calm = new FairTime(() => at(factors.shift()!))
  calm.restart(0)
  for (const second of [1, 2, 3, 4, 5]) calm.spentAt(second * 1_000)
  t.equal(calm.spentAt(5_500), 5_500)
  const stuck = new FairTime(() => at(100))
  stuck.restart(0)
  t.equal(stuck.spentAt(4_000), 1_000)
})

t.test('computing takes no less than the CPU time that it got', async t => {
  const time = new FairTime()
  time.restart(0)
  const spentMs = time.spentAt(1_000)
  t.ok(spentMs <= 1_000 && spentMs >= 250, `${spentMs} ms`)
})
