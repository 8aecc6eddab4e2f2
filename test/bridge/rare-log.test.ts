// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { RareLog } from '../../bridge/rare-log.js'
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
