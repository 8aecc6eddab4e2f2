// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Intake, type Hold } from '../../../bridge/hub/intake.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { FakeClock } from '../../../testkit/fake-clock.js'

const begin = (limits = { perSecond: 10, burst: 20 }) => {
  const clock = new FakeClock()
  const delivered: string[] = []
  const reads: boolean[] = []
  const intake: Intake = new Intake(clock, limits, {
    deliver: frame => {
      delivered.push(frame)
      if (frame === 'hold') intake.hold('lane')
    },
    read: isOn => reads.push(isOn),
  })
  return { clock, delivered, reads, intake }
}

t.test('what arrives while it is held is kept, in order', async t => {
  const { delivered, reads, intake } = begin()
  for (const frame of ['a', 'hold', 'b', 'c']) intake.push(frame)
  t.strictSame(delivered, ['a', 'hold'])
  intake.hold('unread')
  t.strictSame(reads, [false], 'reading stops once')
  intake.release('lane')
  t.strictSame(delivered, ['a', 'hold'], 'another reason holds it still')
  intake.release('rate')
  intake.release('unread')
  t.strictSame(delivered, ['a', 'hold', 'b', 'c'])
  t.strictSame(reads, [false, true])
  intake.release('unread')
  t.strictSame(reads, [false, true], 'nothing to release')
})

t.test(
  'who sends faster than he may is read more slowly, and a large frame counts for many',
  async t => {
    const { clock, delivered, intake } = begin()
    for (let i = 0; i < 100; i++) intake.push(`${i}`)
    t.equal(delivered.length, 21)
    await clock.advance(1_000)
    t.equal(delivered.length, 31, 'ten a second')
    await clock.advance(60_000)
    t.equal(delivered.length, 100)
    intake.push('x'.repeat(40 * 4_096))
    t.ok(intake.isHeld)
    await clock.advance(2_000)
    t.ok(intake.isHeld, '41 units, of which 20 were saved')
    await clock.advance(200)
    t.notOk(intake.isHeld)
  },
)

t.test('after the end nothing is delivered and no timer waits', async t => {
  const { clock, delivered, intake } = begin()
  for (let i = 0; i < 100; i++) intake.push(`${i}`)
  intake.stop()
  await clock.advance(60_000)
  t.equal(delivered.length, 21)
  t.equal(clock.waiting, 0)
})

t.test('however it is held and released, every frame comes once and in order', async t => {
  const random = seededRandom(7)
  const holds: readonly Hold[] = ['lane', 'unread', 'rate']
  const { clock, delivered, intake } = begin({ perSecond: 1_000, burst: 50 })
  let sent = 0
  for (let i = 0; i < 5_000; i++) {
    const draw = random.below(4)
    if (draw === 0) intake.hold(holds[random.below(2)]!)
    if (draw === 1) intake.release(holds[random.below(2)]!)
    if (draw >= 2) intake.push(`${sent++}`)
    if (random.below(10) === 0) await clock.advance(random.below(5))
  }
  for (const hold of holds.slice(0, 2)) intake.release(hold)
  await clock.advance(60_000)
  t.strictSame(
    delivered,
    Array.from({ length: sent }, (_, i) => `${i}`),
  )
})
