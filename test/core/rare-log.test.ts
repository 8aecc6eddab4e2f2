// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { limitBugs, RareLog } from '../../core/rare-log.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'

t.test('the same warning is logged once a minute, with the number of suppressed ones', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const rare = new RareLog(clock, log)
  for (let i = 0; i < 5; i++) rare.warn('a', 'refused', { i })
  rare.warn('b', 'refused', { i: 9 })
  await clock.advance(60_000)
  rare.warn('a', 'refused', { i: 5 })
  t.strictSame(
    log.lines.map(({ fields }) => fields),
    [{ i: 0 }, { i: 9 }, { i: 5, suppressed: 4 }],
  )
})

t.test('so many kinds that not all can be remembered', t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const rare = new RareLog(clock, log)
  rare.info('early', 'connected', {})
  for (let i = 0; i < 19_999; i++) rare.info(`${i}`, 'connected', {})
  rare.info('early', 'connected', {})
  t.equal(log.lines.length, 20_000)
  rare.info('one more', 'connected', {})
  rare.info('early', 'connected', {})
  t.equal(log.lines.length, 20_002, 'the oldest is forgotten')
  t.end()
})

t.test('each kind of bug is logged once a minute, and all else always', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const limited = limitBugs(log, clock)
  for (let i = 0; i < 5; i++) limited.error('bug: a view failed', { error: `${i}` })
  limited.error('bug: a review failed')
  for (let i = 0; i < 2; i++) {
    limited.error('refused')
    limited.warn('bug: not an error')
    limited.info('ready', { i })
    limited.debug('seen')
  }
  await clock.advance(60_000)
  limited.error('bug: a view failed', { error: 'later' })
  t.strictSame(
    log.lines.map(({ level, message, fields }) => [level, message, fields]),
    [
      ['error', 'bug: a view failed', { error: '0' }],
      ['error', 'bug: a review failed', {}],
      ...[0, 1].flatMap(i => [
        ['error', 'refused', {}],
        ['warn', 'bug: not an error', {}],
        ['info', 'ready', { i }],
        ['debug', 'seen', {}],
      ]),
      ['error', 'bug: a view failed', { error: 'later', suppressed: 4 }],
    ],
  )
})
