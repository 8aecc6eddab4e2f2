// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { SuspensionWatch } from '../../agent/suspension.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { ProcessClock, type Suspension } from '../../testkit/process-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'

const make = () => {
  const world = new FakeClock()
  const wall = { offsetMs: 0 }
  const process = new ProcessClock(world, wall)
  const log = recordingLog()
  const server: { time: number | undefined } = { time: undefined }
  const order: string[] = []
  const onResume = (): void => void order.push('resumed')
  const watch = new SuspensionWatch({
    clock: process,
    log,
    onResume,
    serverTime: () => server.time,
  })
  watch.start()
  return { world, wall, process, server, watch, order, log }
}

const signsOf = (log: ReturnType<typeof recordingLog>): unknown[] =>
  log.lines.map(({ fields }) => fields['sign'])

t.test('FA10: what a suspension looks like to who was suspended', async t => {
  const rows: readonly (readonly [Suspension, number, number, readonly string[]])[] = [
    ['stopped', 8_000, 0, ['late']],
    ['stopped', 4_000, 0, []],
    ['asleep', 8_000, 0, ['slept']],
    ['asleep', 4_000, 0, []],
    ['paused', 600_000, 0, []],
    ['paused', 600_000, 600_000, ['wall-clock']],
    ['paused', 600_000, -600_000, []],
    ['paused', 600_000, 4_000, []],
  ]
  for (const [how, ms, stepMs, signs] of rows) {
    const { world, wall, process, watch, order, log } = make()
    await world.advance(60_000)
    t.strictSame(order, [], 'not while it runs')
    for (const after of [1_000, 1_500, 1_500]) watch.clock.after(after, () => order.push('timer'))
    process.freeze(how)
    await world.advance(ms)
    t.strictSame(order, [], 'it stands still')
    wall.offsetMs += stepMs
    process.thaw()
    await world.advance(30_000)
    const timers = ['timer', 'timer', 'timer']
    const reported = signs.length > 0 ? ['resumed'] : []
    const name = `${how} for ${ms} ms, wall clock moved by ${stepMs} ms`
    t.strictSame(order, [...reported, ...timers], `${name}: once, and before anything else runs`)
    t.strictSame(signsOf(log), signs)
    t.equal(watch.count, signs.length)
    watch.stop()
    watch.stop()
    t.equal(world.waiting, 0)
  }
})

t.test('while other timers look often enough, none of its own wakes the process', async t => {
  const world = new FakeClock()
  let wakes = 0
  const counting = {
    now: () => world.now(),
    boot: () => world.boot(),
    wall: () => world.wall(),
    after: (ms: number, wake: () => void) =>
      world.after(ms, () => {
        wakes++
        wake()
      }),
  }
  const watch = new SuspensionWatch({
    clock: counting,
    log: recordingLog(),
    onResume: () => undefined,
    serverTime: () => undefined,
  })
  watch.start()
  const others = (left: number): void => {
    if (left > 0) watch.clock.after(1_100, () => others(left - 1))
  }
  others(20)
  await world.advance(22_000)
  t.equal(wakes, 20, 'those of the others alone')
  await world.advance(20_000)
  t.equal(wakes, 30, 'alone it looks every two seconds')
  watch.stop()
  t.equal(world.waiting, 0)
})

t.test(
  'the boot clock is asked once a second, and whenever the wall clock went on without the others',
  async t => {
    const world = new FakeClock()
    const wall = { offsetMs: 0 }
    const process = new ProcessClock(world, wall)
    let asked = 0
    const order: string[] = []
    const watch = new SuspensionWatch({
      clock: {
        now: () => process.now(),
        wall: () => process.wall(),
        after: (ms, wake) => process.after(ms, wake),
        boot: () => {
          asked++
          return process.boot()
        },
      },
      log: recordingLog(),
      onResume: () => void order.push('resumed'),
      serverTime: () => undefined,
    })
    watch.start()
    const before = asked
    for (let n = 0; n < 100; n++) {
      await world.advance(50)
      watch.look()
    }
    t.ok(asked - before <= 6, `5 s with 100 looks: asked ${asked - before} times`)
    process.freeze('asleep')
    await world.advance(8_000)
    process.thaw()
    watch.look()
    t.strictSame(order, ['resumed'], 'asleep right after a look')
    watch.stop()
  },
)

t.test(
  'a wall clock that was set back by the time asleep hides a sleep for a second at most',
  async t => {
    const { world, wall, process, watch, order } = make()
    await world.advance(10_050)
    watch.look()
    process.freeze('asleep')
    await world.advance(8_000)
    wall.offsetMs -= 8_000
    process.thaw()
    watch.look()
    await world.advance(1_000)
    watch.look()
    t.strictSame(order, ['resumed'])
    watch.stop()
  },
)

t.test('FA10: whoever asks first finds out: a message that waited in its socket, too', async t => {
  const { world, process, watch, order } = make()
  process.freeze()
  await world.advance(20_000)
  process.thaw()
  watch.look()
  t.strictSame(order, ['resumed'])
  await world.advance(20_000)
  t.strictSame(order, ['resumed'], 'the timers that were late with it tell nothing new')
})

t.test('FA10: short sleeps add up, since each makes what is known seem younger', async t => {
  const { world, process, watch, order } = make()
  for (let nap = 0; nap < 3; nap++) {
    process.freeze('asleep')
    await world.advance(2_000)
    process.thaw()
    await world.advance(3_000)
  }
  t.strictSame(order, ['resumed'])
  await world.advance(60_000)
  watch.reportedBy('peers')
  t.strictSame(order, ['resumed', 'resumed'], 'peers may know better')
})

t.test('FA10: a paused VM learns it from the apiserver, whose clock went on', async t => {
  const { world, process, server, watch, order, log } = make()
  const say = (lagMs: number): void => {
    server.time = world.wall() - lagMs
    watch.look()
  }
  say(15_000)
  await world.advance(60_000)
  say(0)
  t.strictSame(order, [], 'a first answer that was long on its way tells nothing')
  process.freeze('paused')
  await world.advance(180_000)
  process.thaw()
  watch.look()
  t.strictSame(order, [], 'nothing was heard yet')
  say(500)
  t.strictSame(order, ['resumed'])
  watch.reportedBy('peers')
  say(0)
  t.equal(watch.count, 1, 'peers tell of the same')
  await world.advance(61_000)
  say(10_000)
  server.time! -= 3_600_000
  watch.look()
  say(0)
  t.equal(watch.count, 1, 'a clock that was behind, or is set back, is no sign')
  watch.reportedBy('peers')
  t.equal(watch.count, 2)
  watch.reportedBy('peers')
  await world.advance(59_000)
  watch.reportedBy('peers')
  t.equal(watch.count, 2, 'who lies is believed once a minute')
  await world.advance(2_000)
  watch.reportedBy('peers')
  t.equal(watch.count, 3)
  t.strictSame(signsOf(log), ['apiserver', 'peers', 'peers'])
  watch.stop()
})

t.test('FA10: a wall clock that somebody sets again and again keeps nobody warming up', async t => {
  const { world, wall, watch, order, log } = make()
  await world.advance(60_000)
  for (let step = 0; step < 60; step++) {
    // As a forged NTP server does, or two that quarrel.
    wall.offsetMs += step % 3 === 2 ? -60_000 : 30_000
    await world.advance(5_000)
  }
  t.ok(order.length >= 4 && order.length <= 5, `${order.length} times in five minutes`)
  t.strictSame([...new Set(signsOf(log))], ['wall-clock'])
  watch.stop()
})

t.test(
  'FA10: a paused VM that is paused again soon learns that, too, from the apiserver',
  async t => {
    const { world, process, server, watch, order, log } = make()
    const say = (): void => {
      server.time = world.wall()
      watch.look()
    }
    const pause = async (ms: number): Promise<void> => {
      process.freeze('paused')
      await world.advance(ms)
      process.thaw()
      watch.look()
    }
    say()
    await world.advance(60_000)
    await pause(30_000)
    watch.reportedBy('peers')
    say()
    t.equal(watch.count, 1, 'the apiserver tells of the same as the peers')
    for (let time = 2; time < 5; time++) {
      await world.advance(10_000)
      await pause(600_000)
      say()
      t.equal(watch.count, time, 'this one is another')
      watch.reportedBy('peers')
      t.equal(watch.count, time, 'the peers tell of the same as the apiserver')
    }
    t.strictSame(signsOf(log), ['peers', 'apiserver', 'apiserver', 'apiserver'])
    t.equal(order.length, 4)
    watch.stop()
  },
)

t.test('FA10: an apiserver whose clock jumps keeps nobody warming up', async t => {
  const { world, server, watch, order, log } = make()
  server.time = world.wall()
  watch.look()
  for (let answer = 1; answer <= 60; answer++) {
    await world.advance(10_000)
    server.time = world.wall() + answer * 70_000
    watch.look()
  }
  t.ok(order.length >= 10 && order.length <= 14, `${order.length} times in ten minutes`)
  t.strictSame([...new Set(signsOf(log))], ['apiserver'])
  watch.stop()
})

t.test(
  'FA10: apiservers with different clocks behind one address are no sign of a pause',
  async t => {
    const { world, server, watch, order } = make()
    for (let answer = 0; answer < 300; answer++) {
      server.time = world.wall() + [0, 90_000, -3_600_000][answer % 3]!
      watch.look()
      await world.advance(2_000)
    }
    t.strictSame(order, ['resumed'], 'once, when the one that is ahead was met first')
    watch.stop()
  },
)
