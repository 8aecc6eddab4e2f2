// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { Freshness } from '../../../wrapper/health/freshness.js'

const setUp = () => {
  const clock = new FakeClock()
  const log = recordingLog()
  const expiries: number[] = []
  const freshness = new Freshness(
    { address: 'http://agent/localinfo', limitMs: 60_000 },
    { clock, log, onExpired: () => expiries.push(clock.now()) },
  )
  const messages = () => log.lines.map(({ message }) => message)
  return { clock, freshness, expiries, messages }
}

t.test('the last report is used until the limit, with the trouble beside it', async t => {
  const { clock, freshness, expiries } = setUp()
  t.match(freshness.status, { state: 'waiting', source: 'none', ageMs: undefined })
  t.equal(freshness.isFresh, false)
  freshness.heard('push')
  t.match(freshness.status, { state: 'fresh', source: 'push', ageMs: 0, trouble: undefined })
  await clock.advance(40_000)
  freshness.complain('connection refused')
  t.match(freshness.status, { state: 'last-known', ageMs: 40_000, trouble: 'connection refused' })
  t.equal(freshness.isFresh, true)
  await clock.advance(20_000)
  t.match(freshness.status, { state: 'expired', ageMs: 60_000 })
  t.equal(freshness.isFresh, false)
  t.equal(expiries.length, 1)
  freshness.heard('poll')
  t.match(freshness.status, { state: 'fresh', source: 'poll', trouble: undefined })
})

t.test('each report puts the expiry off, and a stop ends it', async t => {
  const { clock, freshness, expiries } = setUp()
  freshness.heard('push')
  await clock.advance(59_000)
  freshness.heard('push')
  await clock.advance(59_000)
  freshness.stop()
  await clock.advance(60_000)
  t.strictSame(expiries, [])
  t.equal(clock.waiting, 0)
})

t.test('changes are logged, not every report', t => {
  const { freshness, messages } = setUp()
  freshness.heard('push')
  freshness.heard('push')
  freshness.complain('a')
  freshness.complain('b')
  freshness.heard('push')
  freshness.heard('poll')
  t.strictSame(messages(), [
    'health comes from the agent',
    'no health from the agent',
    'health comes from the agent',
    'health comes from the agent',
  ])
  t.end()
})
