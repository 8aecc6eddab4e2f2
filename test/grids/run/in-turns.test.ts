// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { systemClock } from '../../../core/clock.js'
import { WorkQueue, type Work } from '../../../controller/work-queue.js'
import { inTurns } from '../../../grids/run/in-turns.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

t.test('events are handled between the beginnings of any two runs of a queue', async t => {
  let turns = 0
  let counting = setImmediate(function count() {
    turns++
    counting = setImmediate(count)
  })
  t.teardown(() => clearImmediate(counting))
  const begun: number[] = []
  const keys = Array.from({ length: 20 }, (_, at) => `grid-${at}`)
  await new Promise<void>(resolve => {
    // Like a plan, it waits for nothing.
    const work: Work = () => {
      begun.push(turns)
      if (begun.length === keys.length) resolve()
      return Promise.resolve({ kind: 'done' })
    }
    const seams = { clock: systemClock, random: seededRandom(1) }
    const queue = new WorkQueue(inTurns(systemClock, work), seams)
    for (const key of keys) queue.add(key)
  })
  t.equal(new Set(begun).size, keys.length)
})

t.test('a run has its own outcome, and none begins after an abort', async t => {
  const clock = new FakeClock()
  const begun: string[] = []
  const work = inTurns(clock, key => {
    begun.push(key)
    if (key === 'b') throw new Error('broken')
    return Promise.resolve({ kind: 'done', againMs: 7 })
  })
  const abort = new AbortController()
  const [a, b] = [work('a', abort.signal), work('b', abort.signal)]
  const isBroken = t.rejects(b, { message: 'broken' })
  await settle()
  t.strictSame(begun, [])
  await clock.advance(0)
  t.strictSame(await a, { kind: 'done', againMs: 7 })
  await isBroken
  const [c, d] = [work('c', abort.signal), work('d', abort.signal)]
  abort.abort()
  t.strictSame([await c, await d], [{ kind: 'done' }, { kind: 'done' }])
  t.strictSame(begun, ['a', 'b'])
})
