// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Failure } from '../../core/failure.js'
import { recordingLog } from '../../testkit/recording-log.js'

t.test('work that ends as it should is no failure', async t => {
  const log = recordingLog()
  const failure = new Failure(log)
  await failure.watch('the work', Promise.resolve())
  t.equal(await Promise.race([failure.promise, Promise.resolve('open')]), 'open')
  t.strictSame(log.lines, [])
})

t.test('a bug is logged, and the first one is why the program failed', async t => {
  const log = recordingLog()
  const failure = new Failure(log)
  await failure.watch('the work', Promise.reject(new Error('broken')))
  await failure.watch('other work', Promise.reject(new Error('broken, too')))
  await t.rejects(failure.promise, { message: 'broken' })
  t.match(log.lines, [
    { level: 'error', message: 'bug: the work ended', fields: { error: 'broken' } },
    { level: 'error', message: 'bug: other work ended', fields: { error: 'broken, too' } },
  ])
})
