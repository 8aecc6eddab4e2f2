// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { resolveAdmissionOptions } from '../../../admission/options/resolve.js'
import { makeProgram } from '../../../admission/run/program.js'
import { systemClock } from '../../../core/clock.js'
import { systemRandom } from '../../../core/random.js'
import { freePort } from '../../../testkit/free-port.js'
import { recordingLog } from '../../../testkit/recording-log.js'

t.test('a webhook whose certificates end by a bug fails, and answers no reviews', async t => {
  const port = await freePort()
  const given = {
    // Nobody answers there.
    'master-url': 'http://127.0.0.1:9',
    'listen-address': `127.0.0.1:${port}`,
    'status-address': `127.0.0.1:${await freePort()}`,
  }
  const flags = Object.entries(given).map(([name, text]) => ({ name, text }))
  const { options } = resolveAdmissionOptions({ flags, env: {} })
  const lines = recordingLog()
  const warn = (message: string): void => {
    if (message.startsWith('certificates')) throw new Error('broken')
  }
  const log = { ...lines, warn }
  const program = makeProgram(options, {
    ...{ clock: systemClock, random: systemRandom, log, version: 'test', environment: {} },
  })
  t.teardown(() => program.stop())
  await t.rejects(program.start(), { message: 'broken' })
  await t.rejects(program.failed!, { message: 'broken' })
  t.match(
    lines.lines.find(({ level }) => level === 'error'),
    { message: 'bug: the certificates ended' },
  )
  await t.rejects(fetch(`http://127.0.0.1:${port}/`), 'nobody listens for reviews')
})
