// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { InformerStatus } from '../../controller/informer.js'
import { runController, type ControllerParts } from '../../controller/program.js'
import { aborted, sleep } from '../../core/clock.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'

const status: InformerStatus = {
  ...{ state: 'listing', isSynced: false, objects: 0, leftOut: 0, lastHeardAt: 0, lists: 0 },
  ...{ trouble: 'no answer', resourceVersion: '' },
}

/** A controller of parts that say when they are called; `change` makes some of them slow or broken. */
const bed = (change: Partial<Record<string, number>> = {}) => {
  const clock = new FakeClock(0)
  const log = recordingLog()
  const seen: string[] = []
  const stop = new AbortController()
  const never = new AbortController().signal
  const say = (what: string): void => void seen.push(`${clock.now()} ${what}`)
  const takes = async (what: string): Promise<void> => {
    await sleep(clock, change[what] ?? 0, never)
    say(what)
  }
  const informer = (name: string) => {
    let synced: Promise<boolean> | undefined
    return {
      status,
      start: () => say(`start ${name}`),
      get synced() {
        synced ??= takes(`synced ${name}`).then(() => true)
        return synced
      },
      stop: () => takes(`stop ${name}`),
    }
  }
  const parts: ControllerParts = {
    informers: { nodes: informer('nodes'), grids: informer('grids') },
    lead: async signal => {
      say('lead')
      await aborted(signal)
      await takes('led')
    },
    events: { stop: signal => Promise.race([takes('events'), aborted(signal)]) },
    close: () => takes('close'),
  }
  const run = (more: Partial<ControllerParts> = {}) =>
    runController({ ...parts, ...more }, { clock, log }, stop.signal)
  const logged = () =>
    log.lines.map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`)
  return { clock, seen, stop, run, logged, say, parts }
}

t.test('it lists, works, and stops in the reverse order', async t => {
  const { clock, seen, stop, run } = bed({ 'synced nodes': 500, led: 300, 'stop grids': 50 })
  const running = run()
  await clock.advance(1_000)
  stop.abort()
  await clock.advance(1_000)
  await running
  t.strictSame(seen, [
    '0 start nodes',
    '0 start grids',
    '0 synced grids',
    '500 synced nodes',
    '500 lead',
    '1300 led',
    '1300 events',
    '1300 stop nodes',
    '1350 stop grids',
    '1350 close',
  ])
})

t.test('it works in the terms of an election', async t => {
  const { clock, seen, stop, run, say } = bed()
  const running = run({
    election: {
      run: async (signal, lead) => {
        await lead(AbortSignal.abort())
        await lead(signal)
        say('given back')
      },
    },
  })
  await clock.advance(10)
  stop.abort()
  await clock.advance(10)
  await running
  t.match(seen.join(), /0 lead,0 led,0 lead,10 led,10 given back,10 events/)
})

t.test('what cannot be listed is logged; a stop before that begins no work', async t => {
  const { clock, seen, stop, run, logged } = bed({ 'synced grids': 1e9 })
  const running = run()
  await clock.advance(61_000)
  t.strictSame(logged().slice(0, 1), ['not listed yet {"what":"nodes","error":"no answer"}'])
  t.equal(logged().length, 4)
  stop.abort()
  await clock.advance(10)
  await running
  t.notMatch(seen.join(), 'lead')
  t.match(seen.at(-1), 'close')
})

t.test('a part that does not end is abandoned within the time limit of a stop', async t => {
  const { clock, seen, stop, run, logged } = bed({ led: 1e9, events: 1e9, close: 1e9 })
  const running = run()
  await clock.advance(0)
  stop.abort()
  await clock.advance(20_100)
  await running
  t.notMatch(seen.join(), 'led')
  t.strictSame(logged(), [
    'the work did not end in time {"afterMs":12000}',
    'connections did not close in time {"afterMs":4000}',
  ])
})

t.test('work that fails ends it all, and is logged', async t => {
  const { clock, seen, run } = bed()
  const running = run({ lead: () => Promise.reject(new Error('broken')) })
  running.catch(() => undefined)
  await clock.advance(10)
  await t.rejects(running, { message: 'broken' })
  t.match(seen.at(-1), 'close')
})
