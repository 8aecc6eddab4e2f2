// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events'
import t from 'tap'
import { aborted, sleep, systemClock, withTimeout } from '../../core/clock.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'

const never = (): AbortSignal => new AbortController().signal

/** Work that ends only when told. */
const hang = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new Error('cut inside')), { once: true }),
  )

t.test('the machine clock runs forward, fires and cancels', async t => {
  const startedAt = systemClock.now()
  const bootedFor = systemClock.boot()
  t.ok(Math.abs(systemClock.wall() - Date.now()) < 1_000)
  let fired = 0
  systemClock.after(5, () => fired++)
  const cancel = systemClock.after(5, () => (fired += 10))
  cancel()
  cancel()
  t.equal(await sleep(systemClock, 20, never()), true)
  t.equal(fired, 1)
  t.ok(systemClock.now() - startedAt >= 15)
  t.ok(bootedFor > 0 && systemClock.boot() > bootedFor, 'the time since boot goes on')
})

t.test(
  'what is due at once comes after what runs now, without a timer, and can be cancelled',
  async t => {
    const order: string[] = []
    systemClock.after(1, () => order.push('timer'))
    systemClock.after(0, () => order.push('first'))
    const cancel = systemClock.after(0, () => order.push('cancelled'))
    systemClock.after(-5, () => order.push('second'))
    cancel()
    cancel()
    order.push('now')
    // Another phase of the event loop: a timer that is due by then may come before.
    await new Promise(resolve => void setImmediate(resolve))
    t.strictSame(
      order.filter(name => name !== 'timer'),
      ['now', 'first', 'second'],
    )
    t.equal(await sleep(systemClock, 20, never()), true)
    t.strictSame([...order].sort(), ['first', 'now', 'second', 'timer'])
  },
)

t.test('FA22: a timer that is too long for Node.js does not fire at once', async t => {
  let fired = 0
  const cancels = [2 ** 31, 1e15, Infinity].map(ms => systemClock.after(ms, () => fired++))
  t.equal(await sleep(systemClock, 20, never()), true)
  t.equal(fired, 0)
  for (const cancel of cancels) cancel()
  t.throws(() => systemClock.after(NaN, () => undefined), RangeError)
})

t.test('a sleep passes, or is cut short, and leaves no timer', async t => {
  const clock = new FakeClock()
  const passing = sleep(clock, 100, never())
  await clock.advance(99)
  t.equal(clock.waiting, 1)
  await clock.advance(1)
  t.equal(await passing, true)
  const controller = new AbortController()
  const cut = sleep(clock, 100, controller.signal)
  controller.abort()
  t.equal(await cut, false)
  t.equal(await sleep(clock, 100, controller.signal), false, 'aborted before')
  t.equal(clock.waiting, 0)
  const late = new AbortController()
  const done = sleep(clock, 1, late.signal)
  await clock.advance(1)
  late.abort()
  t.equal(await done, true)
})

t.test(
  'waiting for a signal ends when it aborts, at once when it has, and leaves no listener',
  async t => {
    const controller = new AbortController()
    const { signal } = controller
    let ended = 0
    const waiting = aborted(signal).then(() => ended++)
    await settle()
    t.equal(ended, 0)
    t.equal(getEventListeners(signal, 'abort').length, 1)
    controller.abort(new Error('stopping'))
    await waiting
    t.equal(ended, 1)
    await aborted(signal)
    t.equal(getEventListeners(signal, 'abort').length, 0)
  },
)

t.test('work in time', async t => {
  const clock = new FakeClock()
  t.equal(await withTimeout(clock, 100, never(), () => Promise.resolve(7)), 7)
  const failing = withTimeout(clock, 100, never(), () => Promise.reject(new Error('its own')))
  await t.rejects(failing, { message: 'its own' })
  t.equal(clock.waiting, 0)
})

t.test('work that takes too long', async t => {
  const clock = new FakeClock()
  const late = withTimeout(clock, 100, never(), hang)
  late.catch(() => undefined)
  await clock.advance(100)
  await t.rejects(late, { code: 'TIMEOUT', ms: 100 })
  const deaf = withTimeout(clock, 100, never(), async signal => {
    await sleep(clock, 200, never())
    return signal.aborted
  })
  await clock.advance(200)
  t.equal(await deaf, true, 'work that ends well after all is kept')
})

t.test('the outer signal comes first', async t => {
  const clock = new FakeClock()
  const reason = new Error('stopping')
  const controller = new AbortController()
  const cut = withTimeout(clock, 100, controller.signal, hang)
  await settle()
  controller.abort(reason)
  await t.rejects(cut, reason)
  let seen: unknown
  const before = withTimeout(clock, 100, controller.signal, signal => {
    seen = signal.reason
    return Promise.reject(new Error('never started'))
  })
  await t.rejects(before, reason, 'aborted before it began')
  t.equal(seen, reason)
  t.equal(clock.waiting, 0)
})
