// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { MemberStatement } from '../../../agent/identity/member-statement.js'
import { generateNodeKeys, makeVerifier } from '../../../agent/identity/node-keys.js'
import { OwnStatement, type OwnContent } from '../../../agent/identity/own-statement.js'
import type { Clock } from '../../../core/clock.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { FLAG } from '../../../vote/evidence.js'

const keys = generateNodeKeys()
const origin = { zoneHash: 5n, id: 77n }
const SLOT = 4
const well: OwnContent = {
  ...{ flags: FLAG.kubeletWell, membershipHash: 9n, cutAt: -Infinity },
  ...{ down: [], notLooked: [], standsInFor: [] },
}

const start = (clock: Clock, savedEpoch = 0) => {
  const random = seededRandom(1)
  const saved: number[] = []
  const seed = (): Buffer => Buffer.from(Array.from({ length: 10 }, () => random.below(256)))
  let heartbeat = 0
  const nextHeartbeat = (floor: number) => (heartbeat = Math.max(heartbeat, floor) + 1)
  const seams = { clock, seed, nextHeartbeat, save: (epoch: number) => saved.push(epoch) }
  const own = new OwnStatement({ origin, keys, generation: 1, savedEpoch }, SLOT, well, seams)
  return { own, saved }
}
const member = (): MemberStatement =>
  new MemberStatement(origin, 1, makeVerifier(keys.public.signing))
const hear = (one: MemberStatement, own: OwnStatement, now: number) => {
  const { received, progress } = own.news()
  return one.takeStatement(received, progress, Infinity, now)
}

t.test('what a node says is believed, and how old it is', async t => {
  const clock = new FakeClock()
  const { own } = start(clock)
  const one = member()
  t.match(hear(one, own, clock.now()), { kind: 'newer', isOtherContent: true })
  await clock.advance(3_100)
  t.match(hear(one, own, clock.now()), { kind: 'newer', isOtherContent: false })
  t.ok(clock.now() - one.madeAt <= 250 && one.madeAt <= clock.now())
  t.notOk(own.say({ ...well }), 'the same again is no news')
  t.ok(own.say({ ...well, down: [3n] }))
  t.match(hear(one, own, clock.now()), { kind: 'newer', isOtherContent: true })
  t.strictSame(one.received?.statement.down, [3n])
  const cutAt = clock.now() - 10_000
  for (const [field, content] of Object.entries({
    flags: { ...well, flags: FLAG.kubeletBad },
    membershipHash: { ...well, membershipHash: 10n },
    notLooked: { ...well, notLooked: [4n] },
    standsInFor: { ...well, standsInFor: [4n] },
    cut: { ...well, flags: FLAG.cloudCut, cutAt },
    'another cut': { ...well, flags: FLAG.cloudCut, cutAt: cutAt + 1_000 },
  }))
    t.ok(own.say(content), field)
  hear(one, own, clock.now())
  t.equal(
    one.received?.statement.cutFor,
    36,
    'the last of many changes within a quarter of a second',
  )
})

t.test('when its chain is used up it says the same again', async t => {
  const clock = new FakeClock()
  const { own } = start(clock)
  const one = member()
  hear(one, own, clock.now())
  const before = own.news().received
  await clock.advance(1_024_900)
  t.equal(own.news().received, before)
  await clock.advance(200)
  t.not(own.news().received, before)
  t.match(hear(one, own, clock.now()), { kind: 'newer' })
  t.ok(clock.now() - one.madeAt <= 500)
})

t.test('each life has an epoch of its own, which is remembered before anything is said', t => {
  const clock = new FakeClock()
  const first = start(clock)
  const second = start(clock, first.own.epoch)
  t.strictSame([first.saved, second.saved], [[1], [2]])
  const one = member()
  hear(one, second.own, 0)
  t.match(hear(one, first.own, 20_000), { kind: 'known' }, 'the life before is over')
  second.own.beginEpoch()
  t.strictSame(second.saved, [2, 3])
  t.end()
})

t.test(
  'an image that was put back learns of its later life from others, and begins above it',
  async t => {
    const clock = new FakeClock()
    const { own } = start(clock, 4)
    const later = start(clock, 8).own
    const lowest = start(clock, 1).own
    const shown = later.news().received
    t.notOk(own.refute(own.news().received), 'its own statement')
    t.notOk(own.refute(lowest.news().received), 'its past')
    const forged = { ...shown, bytes: Buffer.from(shown.bytes) }
    forged.bytes[forged.bytes.length - 1]! ^= 1
    t.notOk(own.refute(forged), 'nobody else can make it begin anew')
    t.notOk(own.refute({ ...shown, statement: { ...shown.statement, generation: 2 } }))
    t.ok(own.refute(shown))
    t.equal(own.epoch, 10)
    const one = member()
    one.takeStatement(shown, { quarters: 0, link: undefined }, 0, clock.now())
    await clock.advance(1_000)
    t.match(hear(one, own, clock.now()), { kind: 'newer' })
  },
)

/** The error of a record's date, in ms, over two hours of exchanges with a clock that is elsewhere and runs otherwise. */
const datesOver = async (t: Test, ppm: number): Promise<readonly number[]> => {
  const clock = new FakeClock()
  const theirs = {
    now: () => clock.now() * (1 + ppm * 1e-6),
    boot: () => clock.boot(),
    wall: () => 3_600_000 + clock.now() * (1 + ppm * 1e-6),
    after: (ms: number, wake: () => void) => clock.after(ms, wake),
  }
  const { own } = start(theirs)
  const one = member()
  const random = seededRandom(7)
  const errors: number[] = []
  for (let at = 0; at < 7_200_000; at = clock.now()) {
    await clock.advance(5_000 + random.below(15_000))
    const { received, progress } = own.news()
    const made = clock.now()
    const taken = one.takeStatement(received, progress, Infinity, made + 5 + random.below(400))
    if (taken.kind === 'newer' && errors.push(one.madeAt - made) === 1) errors.pop()
    if (taken.kind === 'forged') t.fail(taken.reason)
  }
  return errors.slice(3)
}

t.test('clocks an hour apart that run 300 ppm apart are no trouble', async t => {
  for (const ppm of [-300, 0, 300]) {
    const errors = await datesOver(t, ppm)
    const [least, most] = [Math.min(...errors), Math.max(...errors)]
    t.ok(
      least >= -1_000 && most <= 1_000,
      `${ppm} ppm: ${least.toFixed(0)} to ${most.toFixed(0)} ms`,
    )
  }
})
