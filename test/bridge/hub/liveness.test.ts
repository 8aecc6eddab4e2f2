// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Liveness } from '../../../bridge/hub/liveness.js'
import { FakeClock } from '../../../testkit/fake-clock.js'

const LIMITS = { keepaliveMs: 30_000, pingMs: 10_000 }

const setUp = () => {
  const clock = new FakeClock()
  const seen = { pings: 0, isHeld: false, gone: [] as string[] }
  const liveness: Liveness = new Liveness(LIMITS, {
    clock,
    ping: () => seen.pings++,
    isHeld: () => seen.isHeld,
    onGone: why => {
      seen.gone.push(why)
      liveness.stop()
    },
  })
  return { clock, seen, liveness }
}

t.test('a node that answers no ping is gone at the third', async t => {
  const { clock, seen, liveness } = setUp()
  await clock.advance(10_000)
  liveness.heard()
  await clock.advance(19_999)
  t.strictSame([seen.pings, seen.gone], [2, []])
  liveness.keepalive()
  await clock.advance(10_000)
  t.strictSame([seen.pings, seen.gone], [3, []], 'two pings since the answer')
  await clock.advance(1)
  t.strictSame([seen.pings, seen.gone], [3, ['no answer to pings']])
  t.equal(clock.waiting, 0)
})

t.test('a node that answers pings and sends no keepalive is gone', async t => {
  const { clock, seen, liveness } = setUp()
  for (let passed = 0; passed < 29_000; passed += 1_000) {
    await clock.advance(1_000)
    liveness.heard()
  }
  t.strictSame(seen.gone, [])
  await clock.advance(1_000)
  t.strictSame(seen.gone, ['no keepalive'])
})

t.test('while nothing is read from a node, its silence shows nothing', async t => {
  const { clock, seen, liveness } = setUp()
  seen.isHeld = true
  await clock.advance(120_000)
  t.strictSame(seen.gone, [])
  seen.isHeld = false
  liveness.resumed()
  await clock.advance(29_999)
  t.strictSame(seen.gone, [], 'it is counted from when reading began again')
  await clock.advance(1)
  t.equal(seen.gone.length, 1)
})

t.test('after this process stood still, a node has its whole time again', async t => {
  let now = 0
  const timers: (() => void)[] = []
  const clock = Object.assign(new FakeClock(), {
    now: () => now,
    after: (_ms: number, wake: () => void) => {
      timers.push(wake)
      return () => undefined
    },
  })
  const gone: string[] = []
  new Liveness(LIMITS, {
    clock,
    ping: () => undefined,
    isHeld: () => false,
    onGone: why => gone.push(why),
  })
  now = 600_000
  for (const wake of timers.splice(0)) wake()
  t.strictSame(gone, [])
  now += 30_000
  timers.shift()!()
  t.strictSame(gone, ['no keepalive'])
})
