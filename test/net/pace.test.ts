// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Pace, type PaceLimits } from '../../net/pace.js'
import { FakeClock } from '../../testkit/fake-clock.js'

const LIMITS: PaceLimits = {
  all: { perSecond: 10, burst: 4 },
  perSource: { perSecond: 5, burst: 2 },
}

const stage = (limits = LIMITS) => {
  const clock = new FakeClock()
  const startedAt = clock.now()
  const pace = new Pace(limits, clock)
  const begun: string[] = []
  const take = (key: string) =>
    pace.take(key, () => begun.push(`${key} ${clock.now() - startedAt}`))
  return { clock, pace, begun, take }
}

t.test('a burst begins at once, the rest at the rate of its source', async t => {
  const { clock, pace, begun, take } = stage()
  for (let i = 0; i < 5; i++) take('a')
  t.strictSame(begun, ['a 0', 'a 0'])
  t.equal(pace.waiting, 3)
  await clock.advance(600)
  t.strictSame(begun, ['a 0', 'a 0', 'a 200', 'a 400', 'a 600'])
  t.equal(pace.waiting, 0)
})

t.test('sources are served round-robin within the total rate', async t => {
  const { clock, begun, take } = stage({ all: { perSecond: 10, burst: 1 }, perSource: LIMITS.all })
  for (let i = 0; i < 4; i++) take('loud')
  take('quiet')
  await clock.advance(400)
  t.strictSame(begun, ['loud 0', 'loud 100', 'quiet 200', 'loud 300', 'loud 400'])
})

t.test('work of one source begins in order', async t => {
  const { clock, pace, begun } = stage()
  const take = (name: string) => pace.take('a', () => begun.push(name))
  for (const name of ['1', '2', '3']) take(name)
  await clock.advance(150)
  take('4')
  await clock.advance(450)
  t.strictSame(begun, ['1', '2', '3', '4'])
})

t.test('a source that has a turn earlier than those that wait gets it', async t => {
  const { clock, begun, take } = stage()
  for (let i = 0; i < 3; i++) take('slow')
  take('b')
  take('c')
  take('c')
  await clock.advance(200)
  t.strictSame(begun, ['slow 0', 'slow 0', 'b 0', 'c 0', 'c 100', 'slow 200'])
})

t.test('cancelled work uses nothing of the rate', async t => {
  const { clock, pace, begun, take } = stage()
  take('a')
  take('a')
  const third = take('a')
  take('a')
  const other = pace.take('a', () => begun.push('never'))
  third?.()
  third?.()
  other?.()
  t.equal(pace.waiting, 1)
  await clock.advance(200)
  t.strictSame(begun, ['a 0', 'a 0', 'a 200'])
  third?.()
  t.equal(pace.waiting, 0)
  const last = [take('a'), take('a')].at(-1)
  last?.()
  await clock.advance(2_000)
  t.equal(pace.waiting, 0)
})

t.test("work that begins may cancel another source's", async t => {
  const { clock, pace, begun } = stage({ all: { perSecond: 1, burst: 1 }, perSource: LIMITS.all })
  pace.take('a', () => begun.push('a'))
  const cancels: ((() => void) | undefined)[] = []
  pace.take('b', () => cancels.forEach(cancel => cancel?.()))
  cancels.push(pace.take('c', () => begun.push('c')))
  await clock.advance(5_000)
  t.strictSame(begun, ['a'])
  t.equal(pace.waiting, 0)
})

t.test('work cancelled at the moment when it may begin uses nothing of the rate', async t => {
  const { clock, pace, begun, take } = stage({ ...LIMITS, perSource: { perSecond: 5, burst: 1 } })
  take('a')
  take('b')
  const cancels: ((() => void) | undefined)[] = []
  pace.take('a', () => cancels.forEach(cancel => cancel?.()))
  cancels.push(pace.take('b', () => begun.push('given up')))
  await clock.advance(1_000)
  take('b')
  t.strictSame(begun, ['a 0', 'b 0', 'b 1000'])
  t.equal(pace.waiting, 0)
})

t.test('after a pause there is one burst, however long the pause was', async t => {
  const { clock, begun, take } = stage()
  take('a')
  await clock.advance(3_600_000)
  begun.length = 0
  for (let i = 0; i < 4; i++) take('a')
  t.equal(begun.length, 2)
})

t.test('a million sources leave little behind', async t => {
  const { clock, pace } = stage({
    all: { perSecond: 1e6, burst: 1e6 },
    perSource: { perSecond: 10, burst: 2 },
  })
  for (let i = 0; i < 20_000; i++) {
    pace.take(String(i), () => undefined)
    if (i % 1_000 === 0) await clock.advance(200)
  }
  t.ok(pace.known <= 5_200, `${pace.known} are kept`)
  await clock.advance(200)
  pace.take('waits', () => undefined)
  pace.take('waits', () => undefined)
  t.notOk(pace.take('waits', () => undefined) === undefined)
})
