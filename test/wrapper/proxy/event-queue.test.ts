// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { EventQueue, type QueuedEvent, type SentEvent } from '../../../wrapper/proxy/event-queue.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

const event = (name: string, size = 10, source = 'user 0'): QueuedEvent => ({
  ...{ source, url: '/e' },
  headers: ['Authorization', `Bearer secret-${name}`],
  body: Buffer.alloc(size, name),
})

const makeBed = (answers: SentEvent[] = []) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const tried: string[] = []
  const queue = new EventQueue(
    { maxEvents: 6, maxBytes: 2_000 },
    {
      ...{ clock, log, random: seededRandom(1) },
      send: event => {
        tried.push(event.body.toString('latin1', 0, 1))
        return Promise.resolve(answers.shift() ?? 'unreachable')
      },
    },
  )
  return { clock, log, tried, queue, answers }
}

t.test('Events are sent in order, each until it was answered', async t => {
  const bed = makeBed(['unreachable', 'unreachable', 'sent', 'refused', 'sent'])
  for (const name of ['a', 'b', 'c']) t.equal(bed.queue.offer(event(name)), true)
  t.equal(bed.queue.length, 3)
  await bed.clock.advance(30_000)
  t.strictSame(bed.tried, ['a', 'a', 'a', 'b', 'c'])
  t.match(bed.queue.counts, { accepted: 3, sent: 2, refused: 1, dropped: 0, lost: 0 })
  t.strictSame([bed.queue.length, bed.queue.bytes], [0, 0])
  bed.answers.push('sent')
  bed.queue.offer(event('d'))
  await bed.clock.advance(2_000)
  t.equal(bed.tried.at(-1), 'd', 'and again later')
})

t.test('an Event that comes right after the last answer is sent too', async t => {
  for (let steps = 0; steps < 10; steps++) {
    const clock = new FakeClock()
    const offerB = async (): Promise<void> => {
      for (let i = 0; i < steps; i++) await Promise.resolve()
      if (queue.counts.accepted < 2) queue.offer(event('b'))
    }
    const queue: EventQueue = new EventQueue(
      { maxEvents: 6, maxBytes: 2_000 },
      {
        ...{ clock, log: recordingLog(), random: seededRandom(1) },
        send: () => {
          void offerB()
          return Promise.resolve('sent')
        },
      },
    )
    queue.offer(event('a'))
    await clock.advance(60_000)
    t.match(queue.counts, { accepted: 2, sent: 2 }, `${steps} turns after it was sent`)
    await queue.stop()
  }
})

t.test('bounded in number and bytes: accepted Events stay, further ones are refused', t => {
  const bed = makeBed()
  for (const name of ['a', 'b', 'c', 'd']) bed.queue.offer(event(name))
  t.match(bed.queue.counts, { accepted: 3, dropped: 1 })
  const other = makeBed()
  t.equal(other.queue.offer(event('a', 900)), true)
  t.equal(other.queue.offer(event('b', 900)), false)
  t.equal(other.queue.offer(event('c', 10)), true)
  t.end()
})

for (const [what, size, rooms] of [
  ['number', 10, [50, 25, 13]],
  ['bytes', 960, [50, 25, 13]],
  ['bytes, with one that is larger than half', 60_000, [1, 0, 0]],
] as const)
  t.test(`whoever sends without end leaves room for others: ${what}`, t => {
    const queue = new EventQueue(
      { maxEvents: 100, maxBytes: 100_000 },
      {
        ...{ clock: new FakeClock(), log: recordingLog(), random: seededRandom(1) },
        send: () => Promise.resolve('unreachable'),
      },
    )
    t.teardown(() => queue.stop())
    for (const [user, room] of rooms.entries()) {
      const taken = Array.from({ length: 200 }, () => queue.offer(event('x', size, `user ${user}`)))
      t.equal(taken.filter(Boolean).length, room, `user ${user}`)
    }
    t.ok(queue.offer(event('y', 10, 'another')), 'one who sends little loses nothing')
    t.end()
  })

t.test('a source has its share again when its Events are delivered', async t => {
  const bed = makeBed(Array.from({ length: 3 }, () => 'sent'))
  for (const name of ['a', 'b', 'c']) t.ok(bed.queue.offer(event(name)))
  t.notOk(bed.queue.offer(event('d')))
  await bed.clock.advance(2_000)
  for (const name of ['a', 'b', 'c']) t.ok(bed.queue.offer(event(name)))
  t.notOk(bed.queue.offer(event('d')))
})

t.test('sources take turns; one that the apiserver fails on waits without others', async t => {
  for (const [answer, order] of [
    ['sent', 'xxaxxbxxc'],
    ['failed', 'xxabcxxxx'],
  ] as const) {
    const clock = new FakeClock()
    const tried: string[] = []
    const queue = new EventQueue(
      { maxEvents: 1_000, maxBytes: 1_000_000 },
      {
        ...{ clock, log: recordingLog(), random: seededRandom(1) },
        send: ({ body, source }) => {
          tried.push(body.toString('latin1', 0, 1))
          if (source === 'user 0') return Promise.resolve('sent')
          // It sends one more each time.
          queue.offer(event('x', 10, source))
          return Promise.resolve(tried.length > 1_000 ? 'unreachable' : answer)
        },
      },
    )
    t.teardown(() => queue.stop())
    for (let i = 0; i < 100; i++)
      for (const user of [7, 8]) queue.offer(event('x', 10, `user ${user}`))
    for (const name of ['a', 'b', 'c']) queue.offer(event(name))
    await clock.advance(20_000)
    t.strictSame(tried.slice(0, 9).join(''), order, answer)
  }
})

t.test('tries with growing waits, and at once when the cloud is back', async t => {
  const bed = makeBed()
  bed.queue.offer(event('a'))
  await bed.clock.advance(300_000)
  t.ok(bed.tried.length > 8 && bed.tried.length < 18, `${bed.tried.length} tries in 5 minutes`)
  bed.answers.push('sent')
  bed.queue.retry()
  await settle()
  t.equal(bed.queue.length, 0)
})

t.test('stop drops queued Events and logs how many', async t => {
  const bed = makeBed()
  bed.queue.offer(event('a'))
  await bed.clock.advance(2_000)
  await bed.queue.stop()
  t.match(bed.queue.counts, { lost: 1 })
  t.equal(bed.queue.offer(event('b')), false)
  t.equal(bed.clock.waiting, 0)
  t.notMatch(JSON.stringify(bed.log.lines), /secret/, 'no credential in any line')
})

t.test('FW9: one that the apiserver always fails on holds up no other', async t => {
  const clock = new FakeClock()
  const tried: string[] = []
  const queue = new EventQueue(
    { maxEvents: 10, maxBytes: 10_000 },
    {
      ...{ clock, log: recordingLog(), random: seededRandom(1) },
      send: ({ body }) => {
        const name = body.toString('latin1', 0, 1)
        tried.push(name)
        return Promise.resolve(name === 'x' ? 'failed' : 'sent')
      },
    },
  )
  t.teardown(() => queue.stop())
  for (const name of ['x', 'a', 'b']) queue.offer(event(name))
  await clock.advance(4_000)
  t.strictSame(tried.slice(0, 3), ['x', 'a', 'b'], 'it waits behind the others')
  await clock.advance(40_000)
  const before = tried.length
  t.ok(tried.slice(3).every(name => name === 'x') && before > 5, 'and is tried again')
  queue.offer(event('c'))
  await clock.advance(2_000)
  t.equal(tried[before], 'c', 'who comes later does not wait for it')
  await clock.advance(600_000)
  t.equal(tried.filter(name => name === 'x').length, 12, 'in the end it is given up')
  t.match(queue.counts, { accepted: 4, sent: 3, refused: 1 })
  t.strictSame([queue.length, queue.bytes], [0, 0])
})

t.test('an apiserver that fails on all of them is asked ever more rarely', async t => {
  const bed = makeBed(Array.from({ length: 100 }, () => 'failed'))
  for (const name of ['a', 'b', 'c']) bed.queue.offer(event(name))
  await bed.clock.advance(60_000)
  t.ok(bed.tried.length > 6 && bed.tried.length < 20, `${bed.tried.length} tries in a minute`)
  t.equal(bed.queue.length, 3)
  bed.answers.splice(0, 100, 'sent', 'sent', 'sent')
  const { length } = bed.tried
  bed.queue.retry()
  await settle()
  t.equal(bed.tried.length, length, 'that it answers somebody does not hurry it')
  await bed.clock.advance(40_000)
  t.match(bed.queue.counts, { sent: 3, refused: 0 })
})

t.test('an apiserver that says when to try again is not asked earlier', async t => {
  const bed = makeBed([{ retryAfterMs: 120_000 }, 'sent', { retryAfterMs: 0 }, 'sent'])
  bed.queue.offer(event('a'))
  bed.queue.offer(event('b'))
  await bed.clock.advance(100_000)
  t.strictSame(bed.tried, ['a', 'b'])
  await bed.clock.advance(21_500)
  t.strictSame(bed.tried, ['a', 'b', 'a'])
  await bed.clock.advance(1_500)
  t.strictSame(bed.tried.length, 3, 'not at once, even if it says so')
  await bed.clock.advance(10_000)
  t.match(bed.queue.counts, { sent: 2 })
})

/** The apiserver drops the connection of each `x`; while the link is down, of all. */
const makeDropping = (t: Test, names: string) => {
  const clock = new FakeClock()
  const tried: string[] = []
  const link = { isUp: false }
  const queue = new EventQueue(
    { maxEvents: 100, maxBytes: 100_000 },
    {
      ...{ clock, log: recordingLog(), random: seededRandom(1) },
      send: ({ body }) => {
        const name = body.toString('latin1', 0, 1)
        tried.push(name)
        return Promise.resolve(name === 'x' || !link.isUp ? 'unreachable' : 'sent')
      },
    },
  )
  t.teardown(() => queue.stop())
  for (const name of names) queue.offer(event(name))
  return { clock, tried, link, queue }
}

for (const [what, retries] of [
  ['although nothing else is heard of the apiserver', false],
  ['the wrapper hears the apiserver all the time', true],
] as const)
  t.test(`one that never gets an answer holds up no other: ${what}`, async t => {
    const bed = makeDropping(t, 'xxabc')
    bed.link.isUp = true
    for (let s = 0; s < 120; s++) {
      if (retries) bed.queue.retry()
      await bed.clock.advance(1_000)
    }
    t.strictSame(
      bed.tried.filter(name => name !== 'x'),
      ['a', 'b', 'c'],
    )
    t.equal(bed.queue.length, 2, 'they are tried again')
    for (let s = 0; s < 1_200; s++) {
      if (s % 60 === 0) bed.queue.offer(event('d'))
      await bed.clock.advance(1_000)
    }
    t.match(bed.queue.counts, { sent: 23, refused: 2 }, 'in the end they are given up')
  })

t.test('an outage of a day drops no Event, and afterwards they come in order', async t => {
  const bed = makeDropping(t, 'abcde')
  for (let h = 0; h < 24; h++) await bed.clock.advance(3_600_000)
  t.match(bed.queue.counts, { sent: 0, refused: 0 })
  t.equal(bed.queue.length, 5)
  bed.tried.length = 0
  bed.link.isUp = true
  bed.queue.retry()
  await settle()
  t.strictSame(bed.tried, ['a', 'b', 'c', 'd', 'e'])
})

t.test('a link that comes and goes costs an Event at most one attempt each time', async t => {
  const bed = makeDropping(t, 'ab')
  for (let i = 0; i < 11; i++) {
    bed.queue.retry()
    await bed.clock.advance(600_000)
  }
  t.match(bed.queue.counts, { refused: 0 })
  t.equal(bed.queue.length, 2)
})
