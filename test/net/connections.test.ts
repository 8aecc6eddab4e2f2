// SPDX-License-Identifier: Apache-2.0
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { Connections } from '../../net/connections.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { ANYBODY, LIMITS } from '../../testkit/http/open-listener.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'

t.test('a request whose connection is already closed is ignored', async t => {
  const clock = new FakeClock()
  const options = { address: '127.0.0.1', limits: LIMITS, sources: ANYBODY, isSecure: false }
  const connections = new Connections(options, {
    clock,
    random: seededRandom(1),
    log: recordingLog(),
  })
  const request = new IncomingMessage(new Socket())
  connections.requested(request, new ServerResponse(request), () => t.fail('it is served'))
  connections.upgraded(request)
  connections.released(request)
  t.equal(clock.waiting, 0)
  t.ok(connections.isBusy(request))
})
