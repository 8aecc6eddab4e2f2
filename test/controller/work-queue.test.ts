// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  logFailures,
  WorkQueue,
  type WorkQueueOptions,
  type WorkResult,
} from '../../controller/work-queue.js'
import type { Random } from '../../core/random.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import fc from '../../testkit/properties.js'
import { seededRandom } from '../../testkit/seeded-random.js'

/** Jitter of nothing. */
const even: Random = { below: n => Math.floor(n / 2), bits64: () => 0n }
const DONE: WorkResult = { kind: 'done' }
const FAILED: WorkResult = { kind: 'failed', reason: 'no' }

interface Running {
  readonly key: string
  readonly at: number
  readonly signal: AbortSignal
  end(result?: WorkResult): Promise<void>
}

/** A queue whose runs end when the test says so. */
const bed = (options: WorkQueueOptions = {}, random: Random = even) => {
  const clock = new FakeClock(0)
  const runs: Running[] = []
  const failures: string[] = []
  const work = (key: string, signal: AbortSignal): Promise<WorkResult> =>
    new Promise(resolve => {
      const end = async (result: WorkResult = DONE): Promise<void> => {
        resolve(result)
        await settle()
      }
      runs.push({ key, at: clock.now(), signal, end })
    })
  const onFailure = (...reported: readonly unknown[]): void =>
    void failures.push(reported.join(' '))
  const queue = new WorkQueue(work, { clock, random, onFailure }, options)
  const keys = (): string => runs.map(({ key }) => key).join('')
  return { clock, runs, failures, queue, keys, last: () => runs.at(-1)! }
}

t.test('a key is queued once, and one that is added while it runs runs once more', async t => {
  const { queue, keys, last } = bed({ workers: 1 })
  for (const key of 'aabab') queue.add(key)
  t.equal(keys(), 'a')
  t.strictSame(queue.status, { ready: 1, delayed: 0, running: 1, failing: 0 })
  await last().end()
  t.equal(keys(), 'ab', 'in the order of their turn')
  await last().end()
  t.equal(keys(), 'aba', 'added while it ran')
  await last().end()
  t.equal(keys(), 'aba')
  t.strictSame(queue.status, { ready: 0, delayed: 0, running: 0, failing: 0 })
})

t.test('as many runs as workers, and never two for one key', async t => {
  const { queue, runs, keys } = bed({ workers: 2 })
  for (const key of 'abcaa') queue.add(key)
  t.equal(keys(), 'ab')
  await runs[0]!.end()
  t.equal(keys(), 'abc')
  await runs[1]!.end()
  t.equal(keys(), 'abca')
})

t.test('what fails is tried again, ever more rarely, and never dropped', async t => {
  const { clock, queue, runs, failures, last } = bed()
  queue.add('a')
  const waits: number[] = []
  for (let i = 0; i < 12; i++) {
    const from = clock.now()
    await last().end(FAILED)
    await clock.advance(600_000)
    waits.push(last().at - from)
  }
  t.equal(runs.length, 13)
  t.strictSame(
    waits.slice(0, 10).map(ms => Math.round(ms / 1_000)),
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 300],
  )
  t.equal(waits[11], 300_000)
  t.match(failures[1], /^a no 2 2000$/)
  t.equal(queue.status.failing, 1)
  await last().end()
  t.strictSame(queue.status, { ready: 0, delayed: 0, running: 0, failing: 0 })
  queue.add('a')
  await last().end(FAILED)
  t.match(failures.at(-1), /^a no 1 1000$/, 'a success begins anew')
})

t.test('jitter spreads retries by a fifth', async t => {
  const waits: number[] = []
  for (let seed = 1; seed <= 50; seed++) {
    const { clock, queue, last } = bed({}, seededRandom(seed))
    queue.add('a')
    await last().end(FAILED)
    await clock.advance(2_000)
    waits.push(last().at)
  }
  t.ok(waits.every(ms => ms >= 800 && ms <= 1_200))
  t.ok(new Set(waits.map(Math.round)).size > 30)
})

t.test('adding a failing key shortens its wait, but not to zero', async t => {
  const { clock, queue, runs, last } = bed()
  queue.add('a')
  for (let i = 0; i < 6; i++) {
    await last().end(FAILED)
    if (i < 5) await clock.advance(600_000)
  }
  const failedAt = clock.now()
  for (let i = 0; i < 10; i++) {
    queue.add('a')
    await clock.advance(50)
  }
  t.equal(runs.length, 6)
  await clock.advance(1_000)
  t.strictSame([runs.length, last().at], [7, failedAt + 1_000])
  queue.add('a')
  await last().end(FAILED)
  await clock.advance(1_000)
  t.equal(runs.length, 8, 'news that came while it ran')
})

t.test('a key whose server asked to wait does not run before that', async t => {
  const { clock, queue, runs, last } = bed()
  queue.add('a')
  await last().end({ kind: 'failed', reason: '429', retryAfterMs: 30_000 })
  queue.add('a')
  await clock.advance(29_999)
  t.equal(runs.length, 1)
  await clock.advance(1)
  t.equal(runs.length, 2)
})

t.test('nor does it where the run is planned by time, before the failure or after', async t => {
  const { clock, queue, runs, last } = bed()
  queue.add('a')
  queue.addAfter('a', 500)
  await last().end({ kind: 'failed', reason: '429', retryAfterMs: 30_000 })
  for (let i = 0; i < 29; i++) {
    await clock.advance(1_000)
    queue.addAfter('a', 500)
  }
  await clock.advance(999)
  t.equal(runs.length, 1)
  await clock.advance(1)
  t.equal(runs.length, 2)
  await last().end(FAILED)
  queue.addAfter('a', 100)
  await clock.advance(999)
  t.equal(runs.length, 2, 'the wait after a failure is not shortened to less than the first')
  await clock.advance(1)
  t.equal(runs.length, 3)
  await last().end()
  queue.addAfter('a', 100)
  await clock.advance(100)
  t.equal(runs.length, 4, 'a success ends it')
})

t.test('of several planned runs the earliest counts', async t => {
  const { clock, queue, runs, last } = bed()
  queue.add('a')
  await last().end({ kind: 'done', againMs: 60_000 })
  queue.addAfter('a', 90_000)
  queue.addAfter('a', 10_000)
  t.equal(queue.status.delayed, 1)
  await clock.advance(10_000)
  t.equal(runs.length, 2)
  queue.addAfter('a', 1_000)
  await clock.advance(1_000)
  await last().end()
  t.equal(runs.length, 3, 'it came while it ran')
  queue.addAfter('a', 1_000)
  queue.add('a')
  await last().end()
  await clock.advance(10_000)
  t.strictSame(
    [runs.length, queue.status.delayed],
    [4, 0],
    'what is looked at now is not looked at later',
  )
})

t.test('no more starts in a second than allowed', async t => {
  const { clock, queue, runs } = bed({ workers: 100, startsPerSecond: 10 })
  for (let i = 0; i < 30; i++) queue.add(`k${i}`)
  t.equal(runs.length, 10, 'as many at once')
  await clock.advance(1_000)
  t.equal(runs.length, 20)
  await clock.advance(1_000)
  t.equal(runs.length, 30)
  await clock.advance(60_000)
  for (let i = 0; i < 30; i++) queue.add(`n${i}`)
  t.equal(runs.length, 40, 'what was not used is not saved up')
})

t.test('what throws has failed', async t => {
  const clock = new FakeClock(0)
  const reported: unknown[] = []
  const queue = new WorkQueue(() => Promise.reject(new Error('broken')), {
    clock,
    random: even,
    onFailure: (...all) => void reported.push(all.slice(0, 3)),
  })
  queue.add('a')
  await settle()
  t.strictSame(reported, [['a', 'broken', 1]])
  await queue.stop()
})

t.test('the first failure in a row is a warning, later ones are for debugging', t => {
  const log = recordingLog()
  const report = logFailures(log, 'broken', (name, nextMs) => ({ name, nextMs }))
  report('a', 'no', 1, 1_000)
  report('a', 'still no', 2, 2_000)
  t.strictSame(log.lines, [
    {
      ...{ level: 'warn', message: 'broken' },
      fields: { name: 'a', nextMs: 1_000, error: 'no', failures: 1 },
    },
    {
      ...{ level: 'debug', message: 'broken' },
      fields: { name: 'a', nextMs: 2_000, error: 'still no', failures: 2 },
    },
  ])
  t.end()
})

t.test('stop: what runs is aborted and waited for, nothing begins', async t => {
  const { clock, queue, runs, last } = bed({ workers: 1, startsPerSecond: 1 })
  queue.add('a')
  queue.add('b')
  queue.addAfter('c', 1_000)
  let isStopped = false
  const stopped = queue.stop().then(() => (isStopped = true))
  const twice = queue.stop()
  t.ok(last().signal.aborted)
  await settle()
  t.notOk(isStopped)
  queue.add('d')
  queue.addAfter('e', 1)
  await last().end(FAILED)
  await Promise.all([stopped, twice])
  await clock.advance(600_000)
  t.equal(runs.length, 1)
  t.strictSame(queue.status, { ready: 0, delayed: 0, running: 0, failing: 0 })
  t.equal(clock.waiting, 0)
})

t.test('stop while starts are rationed', async t => {
  const { clock, queue, runs, last } = bed({ workers: 2, startsPerSecond: 1 })
  queue.add('a')
  queue.add('b')
  t.equal(clock.waiting, 1)
  const stopped = queue.stop()
  await last().end()
  await stopped
  t.strictSame([clock.waiting, runs.length], [0, 1])
})

t.test(
  'whatever happens: no key runs twice at a time, none is forgotten, and workers are not exceeded',
  async t => {
    const act = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      waitMs: fc.constantFrom(0, 0, 100, 1_500),
      failing: fc.boolean(),
    })
    await t.resolves(
      fc.assert(
        fc.asyncProperty(fc.array(act, { maxLength: 30 }), fc.nat(1_000), async (acts, seed) => {
          const clock = new FakeClock(0)
          const running = new Set<string>()
          const seen = new Map<string, number>()
          const version = new Map<string, number>()
          const random = seededRandom(seed)
          const wrong: string[] = []
          let isFailing = true
          const work = async (key: string): Promise<WorkResult> => {
            if (running.has(key) || running.size >= 2) wrong.push(key)
            running.add(key)
            seen.set(key, version.get(key) ?? 0)
            await new Promise<void>(resolve => clock.after(200, resolve))
            running.delete(key)
            return isFailing && random.below(2) === 0 ? FAILED : DONE
          }
          const queue = new WorkQueue(work, { clock, random }, { workers: 2, startsPerSecond: 5 })
          for (const { key, waitMs, failing } of acts) {
            isFailing = failing
            version.set(key, (version.get(key) ?? 0) + 1)
            queue.add(key)
            await clock.advance(waitMs)
          }
          isFailing = false
          await clock.advance(700_000)
          const { ready, delayed, running: left } = queue.status
          await queue.stop()
          return (
            wrong.length === 0 &&
            ready + delayed + left === 0 &&
            [...version].every(([key, at]) => seen.get(key) === at)
          )
        }),
        { numRuns: 40 },
      ),
    )
  },
)
